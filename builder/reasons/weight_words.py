"""The sentences of parameters, gradients and updates; a part of the table in `reason_words`."""

from __future__ import annotations

from collections.abc import Mapping

from builder.reasons.phrase_words import Words

WEIGHT_SENTENCES: Mapping[str, Words] = {
    "parameter_differs": Words(
        "{value} differs before the step computes anything",
        "{value} 在本步计算开始之前就已不同",
    ),
    "rewritten": Words(
        "the optimizer left other parameters in step {step} than are read here; the benchmark run "
        "reads what its optimizer left",
        "此处读取的参数不是优化器在第 {step} 步留下的参数；标杆侧读取的就是其优化器留下的参数",
    ),
    "rewritten_on": Words(
        "the optimizer left other parameters in step {step} than are read here on rank {ranks} ("
        "{coordinates}); the benchmark run reads what its optimizer left",
        "rank {ranks}（{coordinates}）在此处读取的参数不是优化器在第 {step} 步留下的参数；标杆侧读"
        "取的就是其优化器留下的参数",
    ),
    "rewritten_there": Words(
        "the benchmark run reads other parameters here than its optimizer left in step {step}; "
        "this run reads what its optimizer left",
        "标杆侧在此处读取的参数不是其优化器在第 {step} 步留下的参数；问题侧读取的就是其优化器留下"
        "的参数",
    ),
    "gradients_kept": Words(
        "the problem run did not clear the gradients in between: this one is the benchmark's plus "
        "that of an earlier backward pass (step {step})",
        "问题侧在两者之间没有将梯度清零：此梯度等于标杆侧的梯度加上此前（第 {step} 步）的梯度",
    ),
    "gradients_cleared": Words(
        "the problem run cleared the gradients in between: this one lacks that of an earlier "
        "backward pass (step {step}), to which the benchmark run adds",
        "问题侧在两者之间将梯度清零：此梯度缺少此前（第 {step} 步）的部分，而标杆侧在其上累加",
    ),
    "updated_alone": Words(
        "only the {side:side} run's optimizer updates {names}; both runs have gradients of them "
        "(parameters: {count})",
        "只有{side:side}的优化器更新 {names}；两侧都有它们的梯度（参数个数：{count}）",
    ),
    "tied_there": Words(
        "in the benchmark {names} are one parameter with one gradient (tied weights); here they "
        "are {count}, each with a gradient of its own",
        "在标杆侧，{names} 是同一个参数（权重共享），共有一个梯度；在问题侧是 {count} 个参数，"
        "各有自己的梯度",
    ),
    "tied_here": Words(
        "here {names} are one parameter with one gradient (tied weights); in the benchmark they "
        "are {count}, each with a gradient of its own",
        "在问题侧，{names} 是同一个参数（权重共享），共有一个梯度；在标杆侧是 {count} 个参数，"
        "各有自己的梯度",
    ),
    "optimizer": Words(
        "all gradients of step {step} agree, so the optimizer's update is what differs",
        "第 {step} 步的所有梯度都一致，因此差异来自优化器的更新",
    ),
}

"""The sentences of what ranks say of each other, English and Chinese side by side.

A table beside `reason_words`: a page shows comparisons, and none of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from builder.reasons.phrase_words import Words

_REDUCED = (
    "input.gradient is {factor:short} times what the backward pass gave (added up over: {axes}), "
    "and that of {peers} other parameters {usual:short} times: "
)
_REDUCED_ZH = (
    "input.gradient 是反向传播所得梯度的 {factor:short} 倍（求和的轴：{axes}），而其余 {peers} 个"
    "参数为 {usual:short} 倍："
)
_PART = "{maker} gives each {axis} rank its part of a sum, and "
_PART_ZH = "{maker} 在每张 {axis} 卡上只给出和的一部分，而"

RANK_SENTENCES: Mapping[str, Words] = {
    "replicas_differ": Words(
        "{value} should be the same on all {axis} ranks and differs by {error:short}: rank {ranks} "
        "({coordinates})",
        "{value} 在所有 {axis} 卡上应当相同，实际相差 {error:short}：卡 {ranks}（{coordinates}）",
    ),
    "replicas_unlike": Words(
        "{value} should be the same on all {axis} ranks and has other shapes or formats: rank "
        "{ranks} ({coordinates})",
        "{value} 在所有 {axis} 卡上应当相同，实际形状或格式不同：卡 {ranks}（{coordinates}）",
    ),
    "own_gradient": Words(
        "it was not reduced: each rank has what its own backward pass gave",
        "没有归约：各卡读取的都是自己反向传播的结果",
    ),
    "own_gradient_over": Words(
        "each is what its own rank's backward pass gave, added up over {axes} and nothing over "
        "{axis}",
        "各卡读取的是自己反向传播的结果，只在 {axes} 上求和，未在 {axis} 上求和",
    ),
    "optimizer_apart": Words(
        "the gradient and the parameter before agree: the optimizer differs",
        "更新前的梯度和参数一致：不同之处在优化器",
    ),
    "gradients_scaled_apart": Words(
        "the gradients that optimizers read were scaled by {factors}; all ranks clip by one factor",
        "优化器读取的梯度被缩放了 {factors}；所有卡应当以同一系数裁剪",
    ),
    "copies_scaled_apart": Words(
        "it scales what is the same on all {axis} ranks by unlike numbers: {factors}; a count, a "
        "norm or a rate that is one rank's own",
        "它以各卡不同的数缩放所有 {axis} 卡上相同的值：{factors}；计数、范数或学习率只属于单卡",
    ),
    "clipped_apart": Words(
        "gradients were clipped by {factors}: each by a norm of its own; all ranks clip by one "
        "factor",
        "梯度裁剪系数为 {factors}：各卡用了自己的范数；所有卡应当以同一系数裁剪",
    ),
    "norm_counts_often": Words(
        "it gives {norm:short} as the norm of all gradients, which is {whole:short}: parameters "
        "that {axis} ranks repeat count {count} times",
        "它给出的全部梯度范数为 {norm:short}，实际为 {whole:short}：各 {axis} 卡重复持有的参数被"
        "计算了 {count} 次",
    ),
    "draws_other": Words(
        "{call} is given the same on all {axis} ranks and draws or chooses something else on each",
        "{call} 在所有 {axis} 卡上的输入相同，但各卡随机抽取或选择的结果不同",
    ),
    "gathered_out_of_order": Words(
        "{call} puts together what ranks gathered along {axis} in the order {order}; they lie in "
        "the order {usual}",
        "{call} 按 {order} 的顺序拼接沿 {axis} 收集的各部分；其应有顺序为 {usual}",
    ),
    "shares_unread": Words(
        "{value} is on rank {ranks} not what the shares that optimizers hold make up",
        "{value} 在卡 {ranks} 上不是各优化器所持分片拼成的值",
    ),
    "shares_unsummed": Words(
        "the shares of the gradient of {value} that optimizers read are not the sum over ranks "
        "that those of {peers} other parameters are",
        "优化器读取的 {value} 的梯度分片不是各卡之和，而其余 {peers} 个参数的分片是",
    ),
    "update_lost": Words(
        "parameters.value is on rank {ranks} what it was before the update of the step before; "
        "other updates were kept",
        "卡 {ranks} 上的 parameters.value 仍是上一步更新之前的值；其他更新都保留了",
    ),
    "shards_updated_apart": Words(
        "ranks {ranks} hold one shard of the parameter, and {value} is another on each: nothing "
        "reduces it over these ranks",
        "卡 {ranks} 持有参数的同一分片，而各卡的 {value} 不同：没有在这些卡之间归约",
    ),
    "reduced_too_often": Words(
        _REDUCED + "it was added up once too often, or left undivided, {times:short} times as much",
        _REDUCED_ZH + "多求和了一次，或者没有做除法，是应有的 {times:short} 倍",
    ),
    "divided_too_often": Words(
        _REDUCED + "it was divided once too often, or not added up, {times:short} times as much",
        _REDUCED_ZH + "多除了一次，或者没有求和，是应有的 {times:short} 倍",
    ),
    "all_divided_twice": Words(
        "all gradients are {factor:short} times the sum over {axes} of what the backward passes "
        "gave: they were divided by {size} twice",
        "所有梯度都是各卡反向传播结果在 {axes} 上之和的 {factor:short} 倍：除以 {size} 做了两次",
    ),
    "owner_reads_own": Words(
        "rank {rank} alone updates the parameter and reads what its own backward pass gave; the "
        "gradients of {peers} other parameters are added up over {axis}",
        "只有卡 {rank} 更新该参数，且读取的是自己反向传播的结果；其余 {peers} 个参数的梯度在 "
        "{axis} 上求和",
    ),
    "fewer_reductions": Words(
        "its backward pass makes {count} calls of {kind}, and those of {peers} modules like it "
        "make {usual}: what it hands on is one rank's part of a gradient",
        "它的反向传播调用 {kind} {count} 次，而 {peers} 个同类模块调用 {usual} 次：它传回的梯度只是"
        "一张卡的部分",
    ),
    "shares_equal": Words(
        "{axis} ranks {ranks} hold one and the same share as {value}; of {peers} parameters like "
        "it each rank has a share of its own",
        "{axis} 卡 {ranks} 的 {value} 是同一个分片；其余 {peers} 个同类参数各卡分片不同",
    ),
    "layers_equal": Words(
        "{value} is on rank {ranks} that of {other}, which lies on another stage",
        "卡 {ranks} 上的 {value} 与位于另一流水级的 {other} 相同",
    ),
    "copies_apart": Words(
        "its optimizer reads one gradient with {other} on another stage: both are copies of one "
        "parameter, and parameters.value is another on each",
        "它与另一流水级上的 {other} 读取同一个梯度：二者是同一参数的副本，而 parameters.value 不同",
    ),
    "rows_unowned": Words(
        "no {axis} rank looks up rows {first} to {last} of the vocabulary, which tokens ask for: "
        "their sum is zero",
        "没有 {axis} 卡查找词表的第 {first} 至 {last} 行，而有词元需要它们：其和为零",
    ),
    "rows_owned_twice": Words(
        "{axis} ranks {ranks} all look up rows {first} to {last} of the vocabulary: their sum "
        "counts them more than once",
        "{axis} 卡 {ranks} 都查找词表的第 {first} 至 {last} 行：求和时重复计算",
    ),
    "part_emptied": Words(
        "rank {ranks} multiplies by 0 what it adds to the sum over {axis}: its part is lost",
        "卡 {ranks} 把要加入 {axis} 之和的值乘以 0：它的部分丢失了",
    ),
    "positions_misplaced": Words(
        "its positions lie over the cp ranks in the {other} order, and the run says {order}",
        "位置在各 cp 卡上按 {other} 顺序排列，而运行记录的是 {order} 顺序",
    ),
    "unlike_added": Words(
        "it adds up the gradients of unlike parameters: {names}",
        "它把不同参数的梯度加在一起：{names}",
    ),
    "shares_updated_as_one": Words(
        "{axis} ranks hold unlike shares of {parameter} and read one gradient for all of them: it "
        "was reduced over {axis}",
        "各 {axis} 卡持有 {parameter} 的不同分片，却读取同一个梯度：它在 {axis} 上被归约了",
    ),
    "gradient_apart": Words(
        "{whole} gives the same on all {axis} ranks, and its gradient is another on each: {reader} "
        "hands on a rank's part of it, and nothing adds it up over {axis}",
        "{whole} 在所有 {axis} 卡上给出相同的值，其梯度却各不相同：{reader} 只传回本卡的一部分，"
        "没有在 {axis} 上求和",
    ),
    "gradient_apart_somewhere": Words(
        "{whole} gives the same on all {axis} ranks, and its gradient is another on each: its "
        "readers hand on a rank's part of it, and nothing adds it up over {axis}",
        "{whole} 在所有 {axis} 卡上给出相同的值，其梯度却各不相同：读取它的调用只传回本卡的一部分，"
        "没有在 {axis} 上求和",
    ),
    "own_added_to_whole": Words(
        "{reader} gives each {axis} rank something of its own, and {whole} adds to it what is the "
        "same on all: from here on, gradients of {count} parameters that are the same on all "
        "ranks are not",
        "{reader} 在每张 {axis} 卡上给出不同的值，{whole} 又加上各卡相同的值：由此起，{count} 个"
        "各卡相同的参数的梯度不再相同",
    ),
    "sum_of_peers_used": Words(
        "{call} gives parts that {peers} of its peers add up over the ranks; here {reader} reads "
        "them as they are",
        "{call} 给出和的一部分，其余 {peers} 层都在各卡之间求和；此处 {reader} 直接读取",
    ),
    "part_added": Words(
        _PART + "{reader}, which reads it, adds to it what is the same on all {axis} ranks: no "
        "reduction over {axis} stands between",
        _PART_ZH + "读取它的 {reader} 加上了所有 {axis} 卡相同的值：其间没有 {axis} 上的归约",
    ),
    "part_bent": Words(
        _PART + "{reader}, which reads it, is not linear: no reduction over {axis} stands between",
        _PART_ZH + "读取它的 {reader} 不是线性的：其间没有 {axis} 上的归约",
    ),
    "summed_elsewhere": Words(
        "{call} adds it up over another axis",
        "{call} 在另一条轴上求和",
    ),
    "whole_bias": Words(
        "{maker} gives each {axis} rank its part of a sum and adds the whole bias to each: the sum "
        "over {axis} has it once for each rank",
        "{maker} 在每张 {axis} 卡上给出和的一部分，并各自加上完整的偏置：{axis} 上的和里每张卡各有"
        "一份偏置",
    ),
    "shard_as_whole": Words(
        "{maker} has another weight on each {axis} rank, and {reader} reads what it gives as if it "
        "were all there is: either its shards are not gathered, or the weights should be the same",
        "{maker} 在每张 {axis} 卡上的权重不同，而 {reader} 把结果当作全部来读取：要么分片没有聚集，"
        "要么这些权重本应相同",
    ),
    "drops_other": Words(
        "{maker} drops other elements of one whole value on each {axis} rank",
        "{maker} 在每张 {axis} 卡上丢弃同一个完整值的不同元素",
    ),
    "summed_again": Words(
        "it adds up what is the same on all its ranks, and makes it {count} times as much",
        "它把所有卡上相同的值相加，使其成为 {count} 倍",
    ),
    "results_unlike": Words(
        "its results on ranks {first} and {second} are not the same",
        "卡 {first} 与卡 {second} 上的结果不同",
    ),
    "other_form": Words(
        "its result on rank {rank} is {result}, and ranks {ranks} gave {given}",
        "卡 {rank} 上的结果为 {result}，而卡 {ranks} 给出的是 {given}",
    ),
    "not_the_sum": Words(
        "its result on rank {rank} is not the sum of what ranks {ranks} gave: mean {mean:short} "
        "instead of {instead:short}",
        "卡 {rank} 上的结果不是卡 {ranks} 所给之值的和：均值为 {mean:short}，应为 {instead:short}",
    ),
    "not_what_was_sent": Words(
        "rank {rank} does not hold what rank {source} sent",
        "卡 {rank} 持有的不是卡 {source} 发送的值",
    ),
    "place_not_given": Words(
        "place {place} on rank {rank} is not what rank {source} gave",
        "卡 {rank} 上第 {place} 位不是卡 {source} 给出的值",
    ),
    "not_gathered": Words(
        "its result on rank {rank} is not what ranks {ranks} gave",
        "卡 {rank} 上的结果不是卡 {ranks} 给出的值",
    ),
    "not_exchanged": Words(
        "what ranks {ranks} received is not what they sent",
        "卡 {ranks} 收到的不是它们发送的值",
    ),
    "place_not_sent": Words(
        "place {place} on rank {rank} is not what rank {source} sent there",
        "卡 {rank} 上第 {place} 位不是卡 {source} 发往该处的值",
    ),
    "other_group_used": Words(
        "talks over {axis} where its {peers} peers use {usual}",
        "在 {axis} 上通信，而其余 {peers} 处相同的调用用的是 {usual}",
    ),
    "rows_reordered": Words(
        "ranks {ranks} read the {count} rows of {argument} in unlike orders",
        "卡 {ranks} 以不同的顺序读取 {argument} 的 {count} 行",
    ),
    "rows_shared": Words(
        "ranks {ranks} read the same {count} rows of {argument}; other {axis} ranks read rows of "
        "their own",
        "卡 {ranks} 读取 {argument} 的同样 {count} 行；其余 {axis} 卡各读自己的行",
    ),
}

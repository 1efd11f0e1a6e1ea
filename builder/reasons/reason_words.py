"""The sentences of all reasons, English and Chinese side by side; nothing else words a reason.

`builder.reasons.sentences` says them, and `make messages` writes them for the page. What stands in
braces is a field of the reason, or a phrase of `phrase_words`; behind the colon stands how a number
is shown: `short` with three digits, `score` with two behind the point, `percent`, `apart` (in
percent, from ten times on in times the benchmark), `side` as the name of a run.
"""

from __future__ import annotations

from collections.abc import Mapping

from builder.reasons.phrase_words import Words
from builder.reasons.value_words import VALUE_SENTENCES
from builder.reasons.weight_words import WEIGHT_SENTENCES

# By code; `code_of` where the number is of that (see `ErrorOf`).
SENTENCES: Mapping[str, Words] = {
    "nonfinite_here": Words(
        "{value}: {what} is {state} here and finite in the benchmark",
        "{value}：{what} 在问题侧为 {state}，在标杆侧为有限值",
    ),
    "norm_error_appears": Words(
        "{value}: relative error of the norm {error:short}, while those of the inputs that have "
        "one stay below 0.1 (the rule looks at norms only)",
        "{value}：范数的相对误差为 {error:short}，而可得出此误差的输入都低于 0.1（此规则只看范数）",
    ),
    "norm_error_grows": Words(
        "{value}: relative error of the norm {error:short}, more than 10 times that of the inputs",
        "{value}：范数的相对误差为 {error:short}，超过输入的 10 倍",
    ),
    "thousandth_drops": Words(
        "{value}: only {ratio:percent} of the elements within 0.1 %, inputs above 90 %",
        "{value}：仅 {ratio:percent} 的元素误差在千分之一以内，而输入高于 90%",
    ),
    "cosine_drops": Words(
        "{value}: cosine {cosine:short}, a drop of more than 0.1 from the inputs",
        "{value}：余弦相似度为 {cosine:short}，比输入下降超过 0.1",
    ),
    "attribute_differs": Words(
        "{value}: {attribute} is {problem} here and {benchmark} in the benchmark",
        "{value}：{attribute} 在问题侧为 {problem}，在标杆侧为 {benchmark}",
    ),
    "mode_differs": Words(
        "{module} runs in training mode here and in evaluation mode in the benchmark",
        "{module} 在问题侧以训练模式运行，在标杆侧以评估模式运行",
    ),
    "mode_differs_evaluation": Words(
        "{module} runs in evaluation mode here and in training mode in the benchmark",
        "{module} 在问题侧以评估模式运行，在标杆侧以训练模式运行",
    ),
    "checksum_differs": Words(
        "{value}: the checksums differ",
        "{value}：校验和不同",
    ),
    "parameter_unmatched": Words(
        "{value}: this parameter has no counterpart",
        "{value}：该参数在另一侧没有对应",
    ),
    "surplus": Words(
        "{value}: exists on the {side:side} side only",
        "{value}：只存在于{side:side}",
    ),
    "unrecorded": Words(
        "{value}: the {side:side} run alone has numbers of it, so it is not compared",
        "{value}：只有{side:side}记录了它的数值，不作比较",
    ),
    "unreadable": Words(
        "{value}: its tensor file could not be read: {error}",
        "{value}：无法读取其张量文件：{error}",
    ),
    "extension": Words(
        "{text}",
        "{text}",
    ),
    "measure": Words(
        "{value}: {name} {number:short}",
        "{value}：{name} {number:short}",
    ),
    "fuzzy_guess": Words(
        "matched with {partner} by a guess that scores {score:score}",
        "与 {partner} 的匹配为推测，得分 {score:score}",
    ),
    "introduced": Words(
        "its inputs agree (score {input_score:score}), its {value} does not (score {score:score})",
        "输入一致（分数 {input_score:score}），而 {value} 不同（分数 {score:score}）",
    ),
    "introduced_beyond": Words(
        "its inputs differ (score {input_score:score}), but not such that its {value} would "
        "(score {score:score})",
        "输入有差异（分数 {input_score:score}），但不足以使 {value} 如此不同（分数 {score:score}）",
    ),
    "begins_at_token": Words(
        "first at request {request}, position {position}; {apart} of {of} tokens are apart",
        "最先出现在请求 {request} 的位置 {position}；{of} 个 token 中有 {apart} 个不同",
    ),
    "amplified_at": Words(
        "{name} amplifies it: in {rows} of {of} rows it chooses otherwise between numbers that "
        "are {margin:short} apart in the benchmark and moved by {apart:short}",
        "{name} 将其放大：{of} 行中有 {rows} 行作出了不同选择，所选两数在标杆中相差 "
        "{margin:short}，而两次运行间的相对变化为 {apart:short}",
    ),
    "introduced_inside": Words(
        "its inputs agree; inside it {value} of {reader} is the first value compared that does not "
        "(score {score:score})",
        "输入一致；其内部 {reader} 的 {value} 是首个不同的比对值（分数 {score:score}）",
    ),
    "leaves_values": Words(
        "what {call} in it reads, the benchmark has as well; its {value}, and all that is made of "
        "that, the benchmark has nowhere",
        "其中 {call} 的输入在标杆中也有；其 {value} 及由它得出的一切在标杆中均不存在",
    ),
    "explained": Words(
        "{value} is off by {apart:apart}{before}",
        "{value} 相差{apart:apart}{before}",
    ),
    "explained_sketch": Words(
        "{value} is off by about {apart:apart}{before}",
        "{value} 相差约{apart:apart}{before}",
    ),
    "explained_factor": Words(
        "{value} is {factor:factor} times the benchmark's{before}",
        "{value} 是标杆的 {factor:factor} 倍{before}",
    ),
    "explained_infinities": Words(
        "{value} has infinities in other places: as marks they are off by at least "
        "{apart:apart}{before}",
        "{value} 中无穷大的位置不同：以标记计至少相差{apart:apart}{before}",
    ),
    "explained_norm": Words(
        "the norm of {value} is off by {apart:apart}{before}",
        "{value} 的范数相差{apart:apart}{before}",
    ),
    "explained_mean": Words(
        "the mean of {value} is off by {apart:apart} of the root mean square{before}",
        "{value} 的均值之差与均方根相比为{apart:apart}{before}",
    ),
    "explained_max": Words(
        "the maximum of {value} is off by {apart:apart} of the largest magnitude{before}",
        "{value} 的最大值之差与最大幅值相比为{apart:apart}{before}",
    ),
    "explained_min": Words(
        "the minimum of {value} is off by {apart:apart} of the largest magnitude{before}",
        "{value} 的最小值之差与最大幅值相比为{apart:apart}{before}",
    ),
    "extra_calls": Words(
        "only the problem run calls {names}",
        "只有问题侧调用 {names}",
    ),
    "missing_calls": Words(
        "only the benchmark run calls {names}",
        "只有标杆侧调用 {names}",
    ),
    "extra_replaced": Words(
        "the problem run calls {names} where the benchmark run calls {instead}",
        "问题侧调用 {names}，而标杆侧在同一位置调用 {instead}",
    ),
    "missing_replaced": Words(
        "the benchmark run calls {names} where the problem run calls {instead}",
        "标杆侧调用 {names}，而问题侧在同一位置调用 {instead}",
    ),
    "called_earlier": Words(
        "the problem run calls {names} before {than}, the benchmark run behind it",
        "问题侧在 {than} 之前调用 {names}，标杆侧在其之后调用",
    ),
    "called_later": Words(
        "the problem run calls {names} behind {than}, the benchmark run before it",
        "问题侧在 {than} 之后调用 {names}，标杆侧在其之前调用",
    ),
    "extra_inside": Words(
        "in it the problem run calls {names}",
        "其中问题侧调用 {names}",
    ),
    "missing_inside": Words(
        "in it the benchmark run calls {names}",
        "其中标杆侧调用 {names}",
    ),
    "heals": Words(
        "all that comes of it agrees in the end: this is another way to the same result",
        "由它而来的差异最终全部消失：这只是得到相同结果的另一种算法",
    ),
    "calls_beside": Words(
        "at the same line one run alone calls {names}",
        "同一行代码中只有一侧调用 {names}",
    ),
    "in_place_of": Words(
        "in their place the other run calls {names}",
        "另一侧在同一位置执行的是：{names}",
    ),
    "input_differs": Words(
        "{value} differs, and no recorded call before it explains that",
        "{value} 不同，且之前没有已记录的调用能解释",
    ),
    "rewired": Words(
        "{value} differs: the problem run reads what {maker} put out, the "
        "benchmark run what {instead} put out",
        "{value} 不同：问题侧读取的是 {maker} 的输出，标杆侧读取的是 {instead} 的输出",
    ),
    "read_before": Words(
        "{value} is what {reader} reads here, and what {instead} puts out in the benchmark: it was "
        "changed in place on the way, or another value is handed on",
        "{value} 在问题侧是 {reader} 所读取的值，在标杆侧是 {instead} 的输出：途中被就地修改，"
        "或传递了另一个值",
    ),
    "fed_otherwise": Words(
        "{value} is what {maker} put out here, and what {instead} put out in the benchmark",
        "{value} 在问题侧是 {maker} 的输出，在标杆侧是 {instead} 的输出",
    ),
    "batch_differs": Words(
        "{value}, which the model is given, differs: the two runs were fed different data",
        "送入模型的 {value} 不同：两次运行的数据不同",
    ),
    "batch_rows": Words(
        "{value}, which the model is given, has {rows} rows here and {rows_there} in the "
        "benchmark: the two runs were fed batches of other sizes",
        "送入模型的 {value} 在问题侧有 {rows} 行，在标杆侧有 {rows_there} 行：两次运行的批大小不同",
    ),
    "batch_shaped": Words(
        "{value}, which the model is given, has the shape {shape} here and {shape_there} in the "
        "benchmark: the two runs were fed different data",
        "送入模型的 {value} 的形状在问题侧为 {shape}，在标杆侧为 {shape_there}：两次运行的数据不同",
    ),
    "rows_differ": Words(
        "{count} of the {total} rows of {value}, which the model is given, are not those that the "
        "benchmark run is given: rank {ranks} ({coordinates}) was fed other data",
        "送入模型的 {value} 共 {total} 行，其中 {count} 行与标杆侧不同：卡 {ranks}（{coordinates}"
        "）的数据不同",
    ),
    "unrecorded_differs": Words(
        "{value} differs and no recorded call makes it: {perhaps}",
        "{value} 不同，且没有已记录的调用产生它：{perhaps}",
    ),
    "integers_differ": Words(
        "{value} holds other integers: the two runs were fed different data, or made them by "
        "calls that are not recorded",
        "{value} 中的整数不同：两次运行的数据不同，或由未记录的调用产生",
    ),
    **WEIGHT_SENTENCES,
    "drift": Words(
        "{value} differs (score {score:score}); the difference grows over many calls, most of all "
        "here",
        "{value} 不同（分数 {score:score}）；差异在许多调用中逐渐增长，在此增长最多",
    ),
    "hidden_by_infinity": Words(
        "infinities in its output hide whether it agrees; {reader} reads it as {value}, and there "
        "the outputs differ",
        "其输出中的无穷大使其无法判断是否一致；{reader} 将其作为 {value} 读取，而后者的输出不同",
    ),
    "fused_away": Words(
        "the problem run has no record of what it puts out, as a compiler fused or removed it; all "
        "recorded before it agrees, and {reader}, which reads it as {value}, is the first that "
        "differs",
        "问题运行中没有其输出的记录（编译器将其融合或移除）；在此之前记录的值均一致，"
        "而将其作为 {value} 读取的 {reader} 是第一个不同之处",
    ),
    "handed_on": Words(
        "what this call receives agrees, and the dump holds no numbers of what it puts out; the "
        "difference is first seen in {reader}, which reads that as {value}",
        "此调用所接收的值一致，而数据中没有其输出的数值；差异首先出现在将其作为 {value} 读取的 "
        "{reader}",
    ),
    "first_inexact": Words(
        "everything before agrees to the last digit, {value} is the first that does not; {reader} "
        "makes the difference grow",
        "此前的所有数值逐位一致，{value} 最先出现差异，并由 {reader} 放大",
    ),
    "replica_differs": Words(
        "{value} should be the same on all {axis} ranks and is not: rank {ranks} ({coordinates}), "
        "relative error between the ranks {error:short}",
        "{value} 在所有 {axis} 卡上应当相同，实际不同：卡 {ranks}（{coordinates}），各卡之间的相对"
        "误差为 {error:short}",
    ),
    "not_reduced": Words(
        "the ranks' values add up to the benchmark's: they are not summed over {axis}",
        "各卡的值之和等于标杆侧的值：没有在 {axis} 上求和",
    ),
    "misplaced": Words(
        "{value} does not lie in the {order} order that the run says: rank {ranks} ({coordinates}"
        ") holds other positions",
        "{value} 未按运行记录的 {order} 顺序排列：卡 {ranks}（{coordinates}）持有其他位置",
    ),
    "other_axis": Words(
        "{text}",
        "{text}",
    ),
    "gradients_scaled": Words(
        "all gradients that the optimizer reads are {factor:short} times the benchmark's: the "
        "loss, clipping or the reduction, no parameter of its own",
        "优化器读取的所有梯度均为标杆侧的 {factor:short} 倍：原因在损失、裁剪或归约，而非某个参数",
    ),
    "updates_differ": Words(
        "what the optimizer reads or writes differs for nearly all parameters ({count}): the step "
        "as a whole",
        "几乎所有参数（{count} 个）在优化器的读写上都不同：问题在整个优化步骤",
    ),
    "same_of": Words(
        "the same is true of {count} more: {names}",
        "另有 {count} 个情况相同：{names}",
    ),
    "ranks_conflict": Words(
        "{text}; the ranks of the benchmark run agree there",
        "{text}；标杆侧的各卡在此处一致",
    ),
    "partial_used": Words(
        "{text}",
        "{text}",
    ),
    "update_alone": Words(
        "the gradient that the optimizer reads and the parameter before agree, what it leaves "
        "does not: its settings, its state or the update itself",
        "优化器读取的梯度和更新前的参数都一致，更新后的参数不一致：问题在优化器的设置、状态或更新"
        "本身",
    ),
    "shard_differs": Words(
        "rank {ranks} ({coordinates}) has a part that is off",
        "卡 {ranks}（{coordinates}）的分片有误",
    ),
    "on_ranks": Words(
        "on rank {ranks} ({coordinates}){there}",
        "位于卡 {ranks}（{coordinates}）{there}",
    ),
    "elements_moved": Words(
        "{maker} puts out the same in both runs; {value} takes other elements of it, or has them "
        "in other places: they are picked or moved otherwise between the two",
        "{maker} 在两次运行中的输出相同，而 {value} 取了其中另外的元素，或元素位置不同："
        "二者之间的选取或移动方式不同",
    ),
    **VALUE_SENTENCES,
    "two_frameworks": Words(
        "{problem} against {benchmark}: each layer of the frameworks is compared as a whole, not "
        "the calls inside it, and the optimizer is left aside",
        "{problem} 与 {benchmark} 比较：框架的每个层作为整体比较，不比较其内部调用；优化器不参与比"
        "较",
    ),
    "one_program": Words(
        "one program ({sure}): {shared:percent} of the calls pair by name",
        "同一程序（{sure}）：{shared:percent} 的调用按名称配对",
    ),
    # The share is of one run, and of calls alone; the count is of both, and of modules too.
    "two_versions": Words(
        "two versions of one program ({sure}): of the run with fewer calls {shared:percent} pair "
        "by name; of both runs together {alone} nodes, calls and modules, have no partner",
        "同一程序的两个版本（{sure}）：调用较少的一次运行有 {shared:percent} 的调用按名称配对；"
        "两次运行的调用和模块合计有 {alone} 个节点没有对应",
    ),
    "two_programs": Words(
        "two programs of one model ({sure}): {shared:percent} of the calls pair by name, and "
        "{found} of {weights} weights by value",
        "同一模型的两个程序（{sure}）：{shared:percent} 的调用按名称配对，{found}/{weights} 个权重"
        "按数值配对",
    ),
    "same_tokens": Words(
        "two programs of one model over the same tokens ({sure}): {found} of {weights} weights "
        "pair by value, {tokens} tokens of {requests} requests by what both are fed",
        "同一模型的两个程序处理相同的 token（{sure}）：{found}/{weights} 个权重按数值配对，"
        "{requests} 个请求的 {tokens} 个 token 按输入配对",
    ),
    "unknown_kind": Words(
        "no kind told: {shared:percent} of the calls pair by name",
        "无法判断关系：{shared:percent} 的调用按名称配对",
    ),
    "two_implementations": Words(
        "two programs of one model: {found} of {weights} weights are found in the other run by "
        "their values{parts}, {modules} modules correspond and are compared at their edges; the "
        "calls inside them are not compared",
        "同一模型的两个程序：按数值在另一次运行中找到 {found}/{weights} 个权重{parts}，"
        "{modules} 个模块相互对应，仅在其输入输出处比较；模块内部的调用不作比较",
    ),
    "two_implementations_calls": Words(
        "two programs of one model: {found} of {weights} weights are found in the other run by "
        "their values{parts}, {modules} calls correspond and are compared, with what they read "
        "from the other calls",
        "同一模型的两个程序：按数值在另一次运行中找到 {found}/{weights} 个权重{parts}，"
        "{modules} 个调用相互对应并作比较，包括它们从其余调用读取的值",
    ),
    "tokens_aligned": Words(
        "{tokens} tokens of {requests} requests are computed by both runs, by one of them in "
        "{passes} forward passes; each is compared with itself. Rows of tokens that the other run "
        "has in no sequence: {left}",
        "两次运行共同计算了 {requests} 个请求的 {tokens} 个 token，其中一次运行分为 {passes} 次前"
        "向；逐 token 比较。另一次运行的序列中没有的 token 行：{left}",
    ),
    "rules_unfit": Words(
        "rules for calls that fit none ({count}): {names}",
        "没有匹配到任何调用的规则（{count} 条）：{names}",
    ),
    "files_broken": Words(
        "files of values that cannot be read and are not compared ({count}), first {name}",
        "无法读取、未作比较的数值文件（{count} 个），第一个是 {name}",
    ),
    "default_differs": Words(
        "{what} is {value} by default in {framework} and {other} in {other_framework}",
        "{what} 的默认值：{framework} 为 {value}，{other_framework} 为 {other}",
    ),
    "nonfinite_made": Words(
        "makes {state} in {value} from finite inputs",
        "由有限的输入在 {value} 中产生了 {state}",
    ),
    "nonfinite_first": Words(
        "its {value} holds the first {state} of its step, where the benchmark has none",
        "其 {value} 含有所在步的第一个 {state}，而标杆侧没有",
    ),
    "nonfinite_follows": Words(
        "the first {state} of its step, where the benchmark has none, is in {value} of {maker}; "
        "this call, which runs before it, already differs",
        "所在步的第一个 {state}（标杆侧没有）在 {maker} 的 {value} 中；在它之前运行的此调用已经不"
        "同",
    ),
    "argument_differs": Words(
        "the argument {value} is {problem} here and {benchmark} in the benchmark",
        "实参 {value} 在问题侧为 {problem}，在标杆侧为 {benchmark}",
    ),
    "precision_differs": Words(
        "computed in {problem} here and in {benchmark} in the benchmark",
        "问题侧以 {problem} 计算，标杆侧以 {benchmark} 计算",
    ),
    "partner_missing": Words(
        "rank {peer_rank} makes no {kind} that belongs to it",
        "卡 {peer_rank} 没有与之对应的 {kind}",
    ),
    "collective_order": Words(
        "rank {peer_rank} calls {other} where this rank calls {kind}",
        "本卡调用 {kind} 时，卡 {peer_rank} 调用的是 {other}",
    ),
    "checkpoint_recomputed": Words(
        "runs in the backward pass: recomputed by activation checkpointing, or called by a "
        "backward of one's own",
        "在反向传播中运行：由激活检查点重新计算，或由自定义的反向函数调用",
    ),
    "precision_setting": Words(
        "computed in {problem} in the problem run and in {benchmark} in the benchmark (most "
        "values, or a whole class of calls); tolerances follow the coarser one",
        "问题侧以 {problem} 计算，标杆侧以 {benchmark} 计算（大多数值或整类调用）；容差按较粗的精"
        "度计算",
    ),
    "statistics_only": Words(
        "a tensor dump against a statistics dump: compared on the statistics both have",
        "张量数据与统计量数据比较：按双方都有的统计量比较",
    ),
    "unlike_statistics": Words(
        "dumps of unlike tasks, {problem} against {benchmark}: compared on the statistics that "
        "both have",
        "{problem} 数据与 {benchmark} 数据比较：按双方都有的统计量比较",
    ),
    "unlike_checksums": Words(
        "dumps of unlike tasks, {problem} against {benchmark}: compared on the checksums that "
        "both have",
        "{problem} 数据与 {benchmark} 数据比较：按双方都有的校验值比较",
    ),
    "unlike_attributes": Words(
        "dumps of unlike tasks, {problem} against {benchmark}: they have no measure of a tensor "
        "in common; arguments, dtypes and shapes alone were compared",
        "{problem} 数据与 {benchmark} 数据比较：双方没有共同的张量度量，只比较了实参、dtype 和形状",
    ),
    "unlike_names": Words(
        "dumps of unlike tasks, {problem} against {benchmark}: one holds no values; names alone "
        "were compared",
        "{problem} 数据与 {benchmark} 数据比较：一侧没有任何值，只比较了名称",
    ),
    "rated_error": Words(
        "no finding names it, but nodes are rated error ({count}): something else of their values "
        "than a number differs, as format, shape or an argument; first {name}{place}",
        "没有发现项指出它，但有 {count} 个节点被评为 error：不同之处不在数值，而在值的其他属性，如"
        "格式、形状或实参；第一个是{place} {name}",
    ),
    "untold_choices": Words(
        "{name}{place} (of {count} such calls) picks others of numbers that agree to rounding, "
        "and nothing recorded tells whether that is a tie or a fault",
        "{place}{name}（共 {count} 个此类调用）在舍入误差内相等的数中选出了不同的元素，记录无法判断"
        "这是平局还是错误",
    ),
    "ties": Words(
        "{name}{place} (of {count} such calls) ranks numbers that agree to rounding and picks "
        "others: a tie; what is gathered by them differs and is no finding",
        "{place}{name}（共 {count} 个此类调用）对在舍入误差内相等的数排序，选出了不同的元素：属于平"
        "局；由此取出的值不同，但不算问题",
    ),
    "amplifies": Words(
        "{name}{place} (of {count} such calls) is a place of amplification and no cause: in "
        "{rows} of {of} rows it chooses otherwise between numbers that are {margin:short} apart in "
        "the benchmark and moved by {apart:short}; what differs from there on is no further cause",
        "{place}{name}（共 {count} 个此类调用）是放大差异之处，而非原因：{of} 行中有 {rows} 行作出"
        "了不同选择，所选两数在标杆中相差 {margin:short}，而两次运行间的相对变化为 {apart:short}；"
        "由此得出的差异本身不说明问题",
    ),
    "number_taken": Words(
        "{name} of the {side:side} side has the number of another folder beside it, and is shown "
        "as {number}",
        "{side:side}的 {name} 与旁边另一目录编号相同，显示为 {number}",
    ),
    "placed_by_names": Words(
        "the {side:side} dump has no construct.json: its modules stand as their names say, and its "
        "calls where the other run has calls of their names, or beside their neighbours",
        "{side:side}的数据没有 construct.json：模块按名称放置，调用放在另一侧同名调用所在之处，否"
        "则放在相邻调用旁",
    ),
    "merged": Words(
        "the ranks are compared as one logical run: {problem} against {benchmark}",
        "各卡合并为一次逻辑运行后比较：{problem} 对 {benchmark}",
    ),
    "not_merged": Words(
        "compared rank by rank, not as one logical run: {why}",
        "按卡逐一比较，未合并为一次逻辑运行：{why}",
    ),
    "merged_by_name": Words(
        "the ranks were joined, and joined ranks pair by name alone: {shared:percent} of the calls "
        "do. Two programs of one model are not compared by their weights so; record the run with "
        "one process, or say with -lm which layers correspond",
        "各卡已合并，合并后只按名称配对：{shared:percent} 的调用能够配对。此时同一模型的两个程序"
        "不会按权重比较；请以单进程采集该次运行，或用 -lm 指定对应的层",
    ),
    "merged_little": Words(
        "fewer than half of the values could be compared: {compared} of {total}",
        "能比较的值不到一半：{total} 个中的 {compared} 个",
    ),
    "merged_values": Words(
        "{compared} values were compared, {assumed} of them by a layout that was inferred from "
        "shapes and values, {bounded} by their mean alone; not compared: {reasons}",
        "比对了 {compared} 个值，其中 {assumed} 个按推测的各卡分布比对，{bounded} 个只比对了均值；"
        "未比对：{reasons}",
    ),
    "only_in": Words(
        "step {step} rank {rank} exists on the {side:side} side only",
        "第 {step} 步、卡 {rank} 只存在于{side:side}",
    ),
    "nothing_comparable": Words(
        "no values could be compared",
        "没有可以比较的值",
    ),
    "same_parameters": Words(
        "the same parameter shapes ({count})",
        "参数形状相同（{count} 个）",
    ),
    "same_class": Words(
        "the same class {name}",
        "同为 {name} 类",
    ),
    "same_inside": Words(
        "{count} modules inside on both sides",
        "两侧内部都有 {count} 个模块",
    ),
    "same_place": Words(
        "the same place among its neighbours",
        "在相邻模块中位置相同",
    ),
    "msprobe_file": Words(
        "written by msprobe's own builder: scores are its precision index",
        "由 msprobe 自身的构建器写成：分数为其精度指标",
    ),
    "msprobe_error": Words(
        "msprobe's own rules call this node an error, and none of those below it",
        "按 msprobe 自身的规则此节点为错误，而其下没有错误的节点",
    ),
    "msprobe_message": Words(
        "{value}: {text}",
        "{value}：{text}",
    ),
    "parallel_merge": Words(
        "{text}",
        "{text}",
    ),
    "not_understood": Words(
        "the file says something that this version does not know: {text}",
        "文件中有此版本不认识的内容：{text}",
    ),
}

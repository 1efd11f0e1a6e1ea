"""Cases that were written after the code that is to find their faults, over all families."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

from evaluation.parallel.collective import Copy, Reduce
from evaluation.placements.case import case
from evaluation.placements.families import context, data, experts, sequence, tensor
from evaluation.placements.net import WIDTH, Layer, loss_of, net, summed_loss_of
from evaluation.placements.run import VOCABULARY, Run

DP2, DP4, TP2, EP2 = {"dp": 2}, {"dp": 4}, {"tp": 2}, {"ep": 2}
TP2_DP2, PP2, CP2 = {"tp": 2, "dp": 2}, {"pp": 2}, {"cp": 2}


@case("late", DP4, r"\bembedding\b", r"^Module\.Net", r"^inputs")
def two_of_four_read_one_share(run: Run) -> None:
    """The sampler gives the last two replicas the same share."""
    model = net(run.dtype)
    share = min(run.rank, 2) if run.wrong else run.rank

    def work(step: int) -> None:
        data.backward(run, model, step, share)
        data.average(run, model)

    run.train(model, work)


@case("late", DP2, r"Optimizer\.layers\.\d\.down\.second")
def second_factors_left_out(run: Run) -> None:
    """Only adapters are trained, and the second of each two factors is not averaged."""
    model = net(run.dtype)
    for seed, layer in enumerate(model.layers):
        assert isinstance(layer, Layer)
        layer.down = data.Adapter(layer.down, seed)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("first" in name or "second" in name)

    def work(step: int) -> None:
        data.backward(run, model, step)
        data.average(run, model, "second" if run.wrong else "")

    run.train(model, work, run.optimizer([p for p in model.parameters() if p.requires_grad]))


@case("late", TP2_DP2, r"Optimizer\.layers\.0\.up\.weight", r"^Distributed\.all_reduce")
def shards_summed_over_their_cut(run: Run) -> None:
    """The gradient of a weight that tp cuts is averaged over tp instead of dp."""
    model = tensor.cut(net(run.dtype), run)

    def work(step: int) -> None:
        tensor.backward(run, model, step)
        data.average(run, model, "layers.0.up.weight")
        gradient = tensor.column_of(model, 0).weight.grad
        assert gradient is not None
        dist.all_reduce(gradient, group=run.group("tp" if run.wrong else "dp"))
        gradient.div_(2)

    run.train(model, work)


@case("late", DP2, r"^Distributed\.all_reduce", r"^Optimizer\.layers")
def two_orders_of_reduction(run: Run) -> None:
    """The second replica averages the biases of the two layers in the other order."""
    model = net(run.dtype)

    def work(step: int) -> None:
        data.backward(run, model, step)
        data.average(run, model, "down.bias")
        biases = [layer.down.bias.grad for layer in model.layers]
        turned = biases[::-1] if run.wrong and run.rank == 1 else biases
        for gradient in turned:
            dist.all_reduce(gradient)
            gradient.div_(2)

    run.train(model, work)


class TwoHeads(nn.Module):
    """The network with a second head that guesses the token after the next."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.body = net(run.dtype)
        torch.manual_seed(9)
        self.further = nn.Linear(VOCABULARY, VOCABULARY, bias=False).to(run.dtype)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.body(tokens)
        return logits, self.further(logits)


@case("late", DP2, r"Optimizer\.further")
def further_head_left_out(run: Run) -> None:
    """The gradient of the second head is not in the list that is averaged."""
    model = TwoHeads(run)

    def work(step: int) -> None:
        tokens, labels = run.batch(step, run.at("dp"))
        near, far = model(tokens)
        (loss_of(near, labels) + loss_of(far[:, :-1], labels[:, 1:])).backward()
        data.average(run, model, "further" if run.wrong else "")

    run.train(model, work)


@case("late", CP2, r"Optimizer\..*norm", r"^Distributed\.all_reduce")
def norms_averaged_twice_over_context(run: Run) -> None:
    """Norms are summed over cp with all others, and once more with those of tensor parallelism."""
    model = context.mixing(run)

    def work(step: int) -> None:
        context.backward(run, model, step)
        data.average(run, model, axis="cp")
        for name, parameter in model.named_parameters():
            if run.wrong and "norm" in name and parameter.grad is not None:
                dist.all_reduce(parameter.grad, group=run.group("cp"))

    run.train(model, work)


@case("late", DP2, r"Optimizer\.layers\.1\.")
def micro_batches_divided_twice(run: Run) -> None:
    """The last layer's gradients are divided by the number of micro-batches once more."""
    model = net(run.dtype)

    def work(step: int) -> None:
        for micro in range(2):
            tokens, labels = run.batch(step, run.at("dp"), micro)
            (loss_of(model(tokens), labels) / 2).backward()
        data.average(run, model)
        for parameter in model.layers[1].parameters():
            if run.wrong and parameter.grad is not None:
                parameter.grad.div_(2)

    run.train(model, work)


class Balanced(nn.Module):
    """A router with a bias that follows how many tokens its experts were given."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.router = nn.Linear(WIDTH, 4, bias=False).to(run.dtype)
        self.balance = nn.Parameter(torch.zeros(4), requires_grad=False)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4)).to(run.dtype)
        self.counts = torch.zeros(4)

    def forward(self, x: Tensor) -> Tensor:
        chances = torch.softmax(self.router(x).float(), -1)
        best = (chances + self.balance).argmax(-1)
        self.counts = torch.bincount(best.flatten(), minlength=4).float()
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            chosen = (best == number).unsqueeze(-1).to(x.dtype)
            out = out + expert(x) * chosen * chances[..., number : number + 1].to(x.dtype)
        return out


@case("late", DP2, r"layers\.1\.down", r"balance")
def balance_by_own_counts(run: Run) -> None:
    """The bias of a router follows the process's own counts of tokens."""
    model = net(run.dtype)
    layer = model.layers[1]
    assert isinstance(layer, Layer)
    layer.up, balanced = nn.Identity(), Balanced(run)
    layer.down = balanced

    def work(step: int) -> None:
        data.backward(run, model, step)
        data.average(run, model)

    def balance(step: int) -> None:
        counts = balanced.counts
        if not run.wrong:
            dist.all_reduce(counts, group=run.group("dp"))
        balanced.balance.data += 0.3 * torch.sign(counts.mean() - counts)
        balanced.balance.data += 0.01 * (counts.mean() - counts) / counts.sum()

    run.train(model, work, after=balance)


class Rows(nn.Module):
    """Some rows of an embedding; the rows of other processes are zeros until they are summed."""

    def __init__(self, whole: nn.Module, run: Run) -> None:
        super().__init__()
        assert isinstance(whole, nn.Embedding)
        self.weight = nn.Parameter(
            whole.weight.detach().chunk(run.size("tp"))[run.at("tp")].clone()
        )
        self.first, self.run = run.at("tp") * self.weight.shape[0], run

    def forward(self, tokens: Tensor) -> Tensor:
        local = tokens - self.first
        foreign = (local < 0) | (local >= self.weight.shape[0])
        rows = functional.embedding(local.clamp(0, self.weight.shape[0] - 1), self.weight)
        own = rows.masked_fill(foreign.unsqueeze(-1), 0.0)
        return own if self.run.wrong else Reduce.apply(own, self.run.group("tp"))


@case("late", TP2, r"\bembedding\b")
def rows_not_summed(run: Run) -> None:
    """The rows of an embedding that is cut are never summed."""
    model = tensor.cut(net(run.dtype), run)
    model.embedding = Rows(model.embedding, run)
    run.train(model, lambda step: tensor.backward(run, model, step))


@case("late", DP2, r"^Optimizer\.", r"\bembedding\b")
def step_skipped_by_one(run: Run) -> None:
    """One replica takes its own gradients for overflown and leaves out the first update."""
    model = net(run.dtype)

    def work(step: int) -> None:
        data.backward(run, model, step)
        data.average(run, model)
        if run.wrong and run.rank == 1 and step == 0:
            for parameter in model.parameters():
                parameter.grad = None

    run.train(model, work)


@case("late", TP2, r"layers\.0\.up", r"layers\.0\.norm")
def one_of_two_layers_sums_late(run: Run) -> None:
    """The first layer's gradient is summed at the norm's input; nobody sums the norm's own."""
    model, group = tensor.cut(net(run.dtype), run), run.group("tp")
    tensor.column_of(model, 0).enter = lambda x: x
    layer = model.layers[0]

    class Entered(nn.Module):
        def __init__(self, norm: nn.LayerNorm) -> None:
            super().__init__()
            self.weight, self.bias = norm.weight, norm.bias

        def forward(self, x: Tensor) -> Tensor:
            return functional.layer_norm(Copy.apply(x, group), (WIDTH,), self.weight, self.bias)

    assert isinstance(layer, Layer)
    layer.norm = Entered(layer.norm)  # type: ignore[assignment]

    def work(step: int) -> None:
        tensor.backward(run, model, step)
        for parameter in layer.norm.parameters():
            if not run.wrong:
                dist.all_reduce(parameter.grad, group=group)

    run.train(model, work)


@case("late", DP2, r"Optimizer\.layers\.0\.", is_told=False)
def one_layer_left_whole(run: Run) -> None:
    """The first layer is ignored by FSDP; the right twin averages its gradients by hand."""
    model = net(run.dtype)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("fsdp",))
    left = list(model.layers[0].parameters())
    fully_shard(model.layers[1], mesh=mesh)
    fully_shard(model, mesh=mesh, ignored_params=set(left))

    def work(step: int) -> None:
        tokens, labels = run.batch(step, run.rank)
        loss_of(model(tokens), labels).backward()
        for parameter in left:
            if not run.wrong:
                dist.all_reduce(parameter.grad)
                parameter.grad.div_(2)  # type: ignore[union-attr]

    run.train(model, work)


@case("late", TP2, r"Optimizer\.embedding", r"\bembedding\b")
def embedding_left_out(run: Run) -> None:
    """Under sequence parallelism the gradient of the embedding is one process's rows."""
    model = sequence.spread(net(run.dtype), run)
    if run.wrong:
        model.embedding = _Own(model.embedding, run)

    def work(step: int) -> None:
        sequence.backward(run, model, step)
        sequence.sum_parts(run, model)

    run.train(model, work)


class _Own(nn.Module):
    """Rows of the process's part of the sequence alone: nothing gathers their gradient."""

    def __init__(self, cut: nn.Module, run: Run) -> None:
        super().__init__()
        self.weight, self.run = cut.weight, run

    def forward(self, tokens: Tensor) -> Tensor:
        own = tokens.chunk(self.run.size("tp"), 1)[self.run.at("tp")]
        return functional.embedding(own, self.weight)  # type: ignore[arg-type]


@case("late", EP2, r"^Optimizer\.", r"^optimizer", r"^Tensor\.mul_")
def clipped_by_the_norm_of_own_experts(run: Run) -> None:
    """Each process clips by a norm that counts its own experts alone."""
    model = experts.sending(run)

    def work(step: int) -> None:
        experts.backward(run, model, step, run.at("ep"))
        experts.average(run, model, "experts.")
        squares = _squares(model.named_parameters(), "experts.")
        if not run.wrong:
            dist.all_reduce(squares, group=run.group("ep"))
        squares = squares + _squares(model.named_parameters(), "")
        factor = (0.05 / squares.sqrt()).clamp(max=1.0)
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(factor)

    run.train(model, work)


def _squares(named: object, part: str) -> Tensor:
    assert hasattr(named, "__iter__")
    total = torch.zeros(())
    listed: Sequence[tuple[str, nn.Parameter]] = list(named)
    for name, parameter in listed:
        is_counted = (part in name) if part else "experts." not in name
        if is_counted and parameter.grad is not None:
            total += parameter.grad.float().square().sum()
    return total


@case("late", DP2, r"^Distributed\.all_reduce", r"^Optimizer\.")
def loss_and_gradients_summed(run: Run) -> None:
    """The loss is summed over the replicas where gradients flow through, and they are as well."""
    model, group = net(run.dtype), run.group("dp")

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, loss: Tensor) -> Tensor:
            return Reduce.apply(loss, group)

        @staticmethod
        def backward(ctx: object, *grads: Tensor) -> Tensor:
            whole = grads[0].clone()
            dist.all_reduce(whole, group=group)
            return whole

    def work(step: int) -> None:
        tokens, labels = run.batch(step, run.rank)
        loss = loss_of(model(tokens), labels)
        (Both.apply(loss) if run.wrong else loss).backward()
        data.average(run, model)

    run.train(model, work)


@case("late", DP2, r"^Tensor\.(mul_|addcdiv_)", r"^Optimizer\.", r"^optimizer")
def rate_by_own_count(run: Run) -> None:
    """Each process's learning rate follows the tokens that it has seen itself."""
    model = net(run.dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-5, foreach=False)

    def work(step: int) -> None:
        data.backward(run, model, step)
        data.average(run, model)
        seen = 1 + run.at("dp") if run.wrong else 2
        optimizer.param_groups[0]["lr"] = 1e-2 * seen / 2

    run.train(model, work, optimizer)


@case("late", CP2, r"^Torch\.mul", r"^Tensor\.(mul|__mul__)", r"^Optimizer\.")
def gradients_weighed_by_own_share(run: Run) -> None:
    """Sums over the sequence are weighed by how much of it a process has, not by the whole."""
    model = net(run.dtype)

    def work(step: int) -> None:
        tokens, labels = run.batch(step)
        part = slice(0, 4) if run.at("cp") == 0 else slice(4, None)
        summed_loss_of(model(tokens[:, part]), labels[:, part]).backward()
        share = torch.tensor(float(labels[:, part].numel()))
        if not run.wrong:
            dist.all_reduce(share, group=run.group("cp"))
        for parameter in model.parameters():
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=run.group("cp"))
            parameter.grad = parameter.grad * (1 / share)

    run.train(model, work)

"""Muon (Jordan and others, 2024): the update of a matrix is its momentum, made orthogonal by Newton-Schulz steps.

PyTorch's implementation computes in bfloat16, one matrix at a time. On a processor without bfloat16 this took more time than the rest
of a step. Here matrices of the same shape are made orthogonal together, in the type that the processor multiplies fastest.
"""

import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # coefficients of the quintic polynomial, for singular values in (0, 1]
STEPS = 5
MATCHING = 0.2  # times the square root of the longer side: about the RMS of an AdamW update


def orthogonal(matrices):
    """Matrices (count, rows, columns) with the same singular vectors and singular values of about one."""
    upright = matrices.shape[1] > matrices.shape[2]
    x = matrices.transpose(1, 2) if upright else matrices
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp_min(1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(STEPS):
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.transpose(1, 2) if upright else x


class Muon(torch.optim.Optimizer):
    """Computes updates in the type `kind`: float32, or bfloat16 as in the authors' implementation."""

    def __init__(self, matrices, lr, kind, momentum=0.95, weight_decay=0.01):
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.kind = kind

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            by_shape = {}
            for weight in group["params"]:
                by_shape.setdefault(weight.shape, []).append(weight)
            for (rows, columns), weights in by_shape.items():
                ahead = torch.stack(self.ahead(weights, group["momentum"]))
                updates = orthogonal(ahead.to(self.kind)).float()
                torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_add_(weights, list(updates), alpha=-group["lr"] * MATCHING * max(rows, columns) ** 0.5)

    def ahead(self, weights, momentum):
        """Nesterov momentum: the running means of the gradients, interpolated with the newest gradients."""
        for weight in weights:
            if not self.state[weight]:
                self.state[weight]["momentum"] = torch.zeros_like(weight)
        means, gradients = [self.state[weight]["momentum"] for weight in weights], [weight.grad for weight in weights]
        torch._foreach_lerp_(means, gradients, 1 - momentum)
        return torch._foreach_lerp(gradients, means, momentum)

"""When a gradient is final: what the monitors and the dumper read of it, and at which moment.

`steps` tells when a step of an optimizer takes its gradients (after its closure, after the user's
own hooks), `clipping` when and by what they are clipped, `taken` which tensor they are and by what
they are still scaled.
"""

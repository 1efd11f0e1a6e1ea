"""The dumper of MindSpore's dynamic graph: fulfils `msprobe_core.capture.framework`.

Nothing is put into the graph or onto cells: classes and functions are replaced between `start` and
`stop`, and gradients are taken by hooks on autograd's own nodes.
"""

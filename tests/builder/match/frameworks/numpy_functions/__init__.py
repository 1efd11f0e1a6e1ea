"""A framework of functions of NumPy: its description; beside it its recorder and a model."""

from msprobe_core.format.frameworks import Default, FrameworkDescription, Words

NUMPY = FrameworkDescription(
    name="numpy",
    display="NumPy",
    short="np",
    packages=("numpy",),
    module_prefixes=("Block",),
    tensor_type="numpy.ndarray",
    tells_requires_grad=False,
    words=Words(
        prefixes={"Block": "Module", "Numpy": "Torch"},
        classes={"Affine": "Linear"},
        parameters={"matrix": "weight", "offset": "bias"},
        calls={"multiply": "mul", "arctan": "atan"},
        defaults={"Linear": (Default("a linear layer's offset", "none", "drawn uniformly"),)},
    ),
)

"""Small parallel programs, each sound and with one fault: what `msprobe check` says of them."""

"""Tools over what a monitor wrote, by the names that scripts use."""

"""Puts the calls of all ranks of a step into one logical run whose values lie in parts."""

"""Watches a running model from outside: modules, API calls, gradients, collectives."""

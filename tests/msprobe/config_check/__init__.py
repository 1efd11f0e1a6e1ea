"""Tests of config_check: packs, comparisons, logs, secrets."""

"""Tests of the generator that measurements rely on."""

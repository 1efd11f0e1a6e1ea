"""Tests of the documentation: its commands run, its site builds."""

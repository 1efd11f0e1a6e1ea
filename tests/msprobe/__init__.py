"""Tests of the face that users know."""

"""Twelve faults seeded into compilers: is the first wrong module named, and the call in it?"""

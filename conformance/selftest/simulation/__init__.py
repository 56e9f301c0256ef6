"""Tests of the simulation, and of the reference in it."""

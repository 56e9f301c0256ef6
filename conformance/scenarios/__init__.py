"""Scenarios: load shape and fault story, lived by an implementation and recorded as a history."""

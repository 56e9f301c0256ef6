"""The conformance suite: requirements, histories, checkers, scenarios and verdicts."""

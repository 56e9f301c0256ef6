"""The isolane command, one module a subcommand."""

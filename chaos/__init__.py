"""Chaos: real Kafka, real Elasticsearch nodes, Toxiproxy between, and everything that goes wrong between them."""

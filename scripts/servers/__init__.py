"""Private RabbitMQ and Redis servers: one implementation for `scripts/services` and for the tests.

Installs nothing, touches no server that it did not start, needs only the standard library.
"""

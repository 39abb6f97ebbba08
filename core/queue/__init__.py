"""RabbitMQ and Dramatiq: lanes, delays, dead letters, the consumer, the publisher and the retry
middleware."""

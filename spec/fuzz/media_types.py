"""Sends NDJSON bodies as text, since schemathesis has no serializer for them."""

import schemathesis

schemathesis.serializer.alias("application/x-ndjson", "text/plain")

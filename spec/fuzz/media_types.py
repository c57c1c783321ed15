"""What schemathesis does not know how to send: a body of lines is text to it."""

import schemathesis

schemathesis.serializer.alias("application/x-ndjson", "text/plain")

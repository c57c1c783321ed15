"""Reads a quota with the client that openapi-python-client has made, and prints it.

Arguments: the URL of the API, and a token.
"""

import sys

from allot_client import AuthenticatedClient
from allot_client.api.quota import user_explain_quota, user_get_quota

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], prefix="token")
quota = user_get_quota.sync(client=client)
explanation = user_explain_quota.sync(client=client)
print(quota.used.size.assets.artifacts, explanation.limit, explanation.left)

"""The HTTP transport: Streamable HTTP of both eras."""

from starlette.applications import Starlette

from clawkit.wire.http.endpoint import Authenticate as Authenticate
from clawkit.wire.http.endpoint import HttpAppOptions as HttpAppOptions
from clawkit.wire.http.endpoint import HttpLogin as HttpLogin
from clawkit.wire.http.endpoint import http_app as http_app

App = Starlette

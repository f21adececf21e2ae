"""One config file per client as people have them: comments, tabs, CRLF, BOM, secrets."""

from __future__ import annotations

from pathlib import Path

import msgspec

TOKEN = "gh" + "p_" + "A1b2" * 9
KEY = "s" + "k-" + "x9" * 16


class Sample(msgspec.Struct, frozen=True):
    client: str
    place: str
    text: str
    local: str
    remote: str | None

    def write(self, home: Path) -> Path:
        path = home / self.place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.text.encode())
        return path


CLAUDE_DESKTOP = f"""{{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {{
    "filesystem": {{
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ünï/Dökumente"]
    }},
    "github": {{
      "command": "docker",
      "args": [
        "run",
        "-i",
        "ghcr.io/github/github-mcp-server"
      ],
      "env": {{ "GITHUB_PERSONAL_ACCESS_TOKEN": "{TOKEN}" }}
    }}
  }}
}}
"""

CLAUDE_CODE = f"""{{
  "numStartups": 412,
  "mcpServers": {{
    "filesystem": {{
      "type": "stdio",
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "${{HOME}}/work"
      ],
      "env": {{}}
    }},
    "linear": {{
      "type": "http",
      "url": "https://mcp.linear.app/mcp?workspace=7",
      "headers": {{
        "Authorization": "Bearer {TOKEN}",
        "X-Team": "${{TEAM:-core}}"
      }}
    }}
  }},
  "projects": {{
    "/home/me/a.b": {{
      "allowedTools": [],
      "history": [{{"display": "say \\"{{hi}}\\" // no comment", "pastedContents": {{}}}}],
      "mcpServers": {{
        "local-only": {{"command": "uvx", "args": ["mcp-server-git"]}}
      }}
    }}
  }},
  "oauthAccount": {{ "emailAddress": "me@example.com", "accessToken": "{KEY}" }}
}}"""

CURSOR = f"""{{
\t"mcpServers": {{
\t\t"filesystem": {{
\t\t\t"command": "npx",
\t\t\t"args": ["-y", "@modelcontextprotocol/server-filesystem", "${{workspaceFolder}}"],
\t\t\t"env": {{"API_KEY": "${{env:API_KEY}}"}}
\t\t}},
\t\t"sentry": {{
\t\t\t"url": "https://mcp.sentry.dev/mcp",
\t\t\t"headers": {{
\t\t\t\t"Authorization": "Bearer ${{env:SENTRY_TOKEN}}",
\t\t\t\t"X-Key": "{KEY}"
\t\t\t}}
\t\t}}
\t}}
}}
"""

VSCODE = f"""\ufeff// Managed by hand
{{
    "inputs": [
        {{ "type": "promptString", "id": "token", "description": "Token", "password": true }},
    ],
    "servers": {{
        /* files of this machine */
        "filesystem": {{
            "type": "stdio",
            "command": "npx", // from Node
            "args": [
                "-y", // yes
                "@modelcontextprotocol/server-filesystem",
                "${{workspaceFolder}}",
            ],
            "envFile": "${{workspaceFolder}}/.env",
        }},
        "github": {{
            "type": "http",
            "url": "https://api.githubcopilot.com/mcp/", // the remote one
            // never commit this
            "headers": {{ "Authorization": "Bearer ${{input:token}}", "X-Other": "{KEY}" }},
            "gallery": true,
        }},
    }},
}}
""".replace("\n", "\r\n")

WINDSURF = f"""{{"mcpServers": {{
  "filesystem": {{"command": "npx", "args": ["-y","@modelcontextprotocol/server-filesystem","/srv"],
                 "disabledTools": ["write_file"]}},
  "figma": {{"serverUrl": "https://figma.example/sse", "headers": {{"X-Figma-Token": "{KEY}"}}}}
}}}}"""

ZED = f"""// Zed settings
//
// see the documentation
{{
  "theme": {{ "mode": "system", "light": "One Light", }},
  "buffer_font_size": 15.5,
  "context_servers": {{
    "filesystem": {{
      "source": "custom",
      "enabled": true,
      "command": "/usr/bin/node",
      "args": ["server.js"],
      "env": {{ "SECRET": "{KEY}" }},
    }},
    "docs": {{
      "url": "https://docs.example/mcp",
      "headers": {{ "Authorization": "Bearer {TOKEN}" }} // the last one
    }},
    "an-extension": {{ "settings": {{ "depth": 3 }} }},
  }},
  "vim_mode": true,
}}
"""

CODEX = f"""# Codex
model = "gpt-5"
approval_policy = "on-request"

[mcp_servers.filesystem]
command = "npx" # from Node
args = [
    "-y",
    "@modelcontextprotocol/server-filesystem", # files
    '/home/me',
]
startup_timeout_sec = 20

[mcp_servers.filesystem.env]
API_KEY = "{KEY}"

# the remote one
[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
enabled_tools = ["get_code"]

# its headers
[mcp_servers.figma.http_headers]
"X-Figma-Region" = "us-east-1"
X-Key = "{KEY}"

[mcp_servers.figma.env_http_headers]
X-Team = "FIGMA_TEAM"

[profiles.fast]
model = "gpt-5-mini"
""".replace("\n", "\r\n")

GEMINI = f"""{{
  // how it looks
  "ui": {{"theme": "GitHub"}},
  "mcpServers": {{
    "filesystem": {{
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "$HOME/notes"],
      "trust": false,
      "timeout": 30000
    }},
    "maps": {{
      "httpUrl": "https://maps.example/mcp",
      "headers": {{"X-Goog-Api-Key": "$MAPS_KEY", "X-Fixed": "{KEY}"}},
      "timeout": 5000
    }}
  }}
}}
"""

GOOSE = f"""GOOSE_PROVIDER: anthropic
GOOSE_MODEL: claude-opus   # the big one
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  filesystem:
    args:
    - -y
    - '@modelcontextprotocol/server-filesystem'
    - /home/me
    cmd: npx
    description: Files — and folders
    enabled: true
    envs:
      API_KEY: {KEY}
    env_keys: []
    name: filesystem
    timeout: 300
    type: stdio

  # over the network
  github:
    type: streamable_http
    uri: https://api.githubcopilot.com/mcp/   # remote
    headers:
      Authorization: Bearer ${{GITHUB_TOKEN}}
      X-Key: "{KEY}"
    env_keys:
      - GITHUB_TOKEN
    enabled: true

# the end
GOOSE_MODE: auto
"""

CLINE = f"""{{
  "mcpServers": {{
    "filesystem": {{
      "autoApprove": ["read_file"],
      "disabled": false,
      "timeout": 60,
      "type": "stdio",
      "command": "cmd",
      "args": ["/c", "npx", "-y", "server"],
      "env": {{"TOKEN": "{TOKEN}"}}
    }},
    "remote": {{
      "autoApprove": [],
      "disabled": false,
      "type": "streamableHttp",
      "url": "https://remote.example/mcp",
      "headers": {{"Authorization": "Bearer {TOKEN}"}}
    }}
  }}
}}
"""

OPENCLAW = f"""// OpenClaw
{{
  gateway: {{ port: 18789, auth: {{ token: '{KEY}' }} }},
  mcp: {{
    servers: {{
      filesystem: {{
        command: 'npx',
        args: ['-y', 'it\\'s a \\x22name\\x22'],
        env: {{ KEY: '{KEY}' }},
      }},
      'remote-tools': {{
        url: 'https://mcp.example.com/mcp',
        transport: 'streamable-http',
        headers: {{ Authorization: 'Bearer ${{TOOLS_TOKEN}}' }},
        requestTimeoutMs: +20000,
      }},
    }},
  }},
}}
"""

LM_STUDIO = f"""{{
  "mcpServers": {{
    "filesystem": {{
      "command": "uvx",
      "args": []
    }},
    "hf": {{
      "url": "https://huggingface.co/mcp",
      "headers": {{
        "Authorization": "Bearer {TOKEN}"
      }}
    }}
  }}
}}"""

OPENCODE = f"""{{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {{
    "filesystem": {{
      "type": "local",
      "command": ["npx", "-y", "server-filesystem"], // argv
      "enabled": true,
      "environment": {{ "KEY": "{{env:MY_KEY}}" }}
    }},
    "context7": {{
      "type": "remote",
      "url": "https://mcp.context7.com/mcp",
      "headers": {{ "CONTEXT7_API_KEY": "{{env:CONTEXT7_API_KEY}}", "X-Key": "{KEY}" }},
      "oauth": false,
      "enabled": true
    }}
  }}
}}
"""

_CLINE_PLACE = (
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
)

SAMPLES = (
    Sample(
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        CLAUDE_DESKTOP,
        "filesystem",
        None,
    ),
    Sample("claude-code", ".claude.json", CLAUDE_CODE, "filesystem", "linear"),
    Sample("cursor", ".cursor/mcp.json", CURSOR, "filesystem", "sentry"),
    Sample("vscode", ".config/Code/User/mcp.json", VSCODE, "filesystem", "github"),
    Sample("windsurf", ".codeium/windsurf/mcp_config.json", WINDSURF, "filesystem", "figma"),
    Sample("zed", ".config/zed/settings.json", ZED, "filesystem", "docs"),
    Sample("codex", ".codex/config.toml", CODEX, "filesystem", "figma"),
    Sample("gemini", ".gemini/settings.json", GEMINI, "filesystem", "maps"),
    Sample("goose", ".config/goose/config.yaml", GOOSE, "filesystem", "github"),
    Sample("cline", _CLINE_PLACE, CLINE, "filesystem", "remote"),
    Sample("openclaw", ".openclaw/openclaw.json", OPENCLAW, "filesystem", "remote-tools"),
    Sample("lmstudio", ".lmstudio/mcp.json", LM_STUDIO, "filesystem", "hf"),
    Sample("opencode", ".config/opencode/opencode.jsonc", OPENCODE, "filesystem", "context7"),
)

BY_CLIENT = {sample.client: sample for sample in SAMPLES}

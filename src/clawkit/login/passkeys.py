"""Passkeys: what an authenticator is asked, and whether its answer is good; by py_webauthn."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from clawkit.errors import LoginError
from clawkit.login.oauth import decoded
from clawkit.login.people import Passkey
from clawkit.login.records import User
from clawkit.login.resources import ServerAddress

_REFUSED = "This passkey cannot be used here."
_UNUSABLE = (WebAuthnException, ValueError, KeyError, TypeError, RecursionError)
"""What py_webauthn raises for an answer that is none."""


class _ClientData(msgspec.Struct):
    challenge: str


class _Response(msgspec.Struct):
    client_data: str = msgspec.field(name="clientDataJSON")


class _Credential(msgspec.Struct):
    id: str
    response: _Response


def new_options(
    address: ServerAddress, person: User, others: Sequence[str], challenge: str
) -> bytes:
    """What a new passkey is asked for, as JSON."""
    options = generate_registration_options(
        rp_id=address.host,
        rp_name=address.host,
        user_name=person.name,
        user_id=uuid.UUID(person.id).bytes,
        challenge=base64url_to_bytes(challenge),
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[
            PublicKeyCredentialDescriptor(id=base64url_to_bytes(one)) for one in others
        ],
    )
    return options_to_json(options).encode()


def ask_options(address: ServerAddress, challenge: str) -> bytes:
    """What any passkey of this server is asked for, as JSON: it says itself whose it is."""
    options = generate_authentication_options(
        rp_id=address.host,
        challenge=base64url_to_bytes(challenge),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options).encode()


def named_in(credential: Any) -> tuple[str, str]:
    """The passkey's id and the challenge that an answer names."""
    try:
        found = msgspec.convert(credential, _Credential)
        data = base64url_to_bytes(found.response.client_data)
        return found.id, decoded(data, _ClientData, _REFUSED).challenge
    except (LoginError, ValueError):
        raise LoginError(_REFUSED) from None


def registered(address: ServerAddress, person: User, credential: Any, challenge: str) -> Passkey:
    """The new passkey of a person; LoginError if it is none."""
    try:
        found = verify_registration_response(
            credential=credential,
            expected_challenge=base64url_to_bytes(challenge),
            expected_rp_id=address.host,
            expected_origin=address.origin,
            require_user_verification=True,
        )
    except _UNUSABLE:
        raise LoginError(_REFUSED) from None
    key_id = bytes_to_base64url(found.credential_id)
    return Passkey(key_id, person.id, found.credential_public_key, found.sign_count)


def verified(address: ServerAddress, passkey: Passkey, credential: Any, challenge: str) -> int:
    """How often a passkey was used, by its own count; LoginError if it did not sign this."""
    try:
        found = verify_authentication_response(
            credential=credential,
            expected_challenge=base64url_to_bytes(challenge),
            expected_rp_id=address.host,
            expected_origin=address.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=passkey.uses,
            require_user_verification=True,
        )
    except _UNUSABLE:
        raise LoginError(_REFUSED) from None
    return found.new_sign_count

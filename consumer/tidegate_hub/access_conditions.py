"""What the hub says about tokens, claims and links or connections that it closes itself.

The rules of `conditions` hold here too: `Recorded` words come from recordings of the real
service, `Reported` words from its users, and `Ours` are our own.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tidegate_hub.conditions import (
    ARGUMENT_ERROR,
    AUTH_FAILED,
    CONNECTION_FORCED,
    DETACH_FORCED,
    RESOURCE_LIMIT_EXCEEDED,
    UNAUTHORIZED_ACCESS,
    HubError,
)

# Answers of $cbs


def invalid_signature() -> HubError:
    """Recorded. Said of an unknown key name as well, so that names cannot be guessed."""
    return HubError(AUTH_FAILED, "InvalidSignature: The token has an invalid signature.")


def expired_token(expires_at: int) -> HubError:
    """Reported."""
    expired = datetime.fromtimestamp(expires_at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return HubError(
        AUTH_FAILED, f"ExpiredToken: The token is expired. Expiration time: '{expired}'"
    )


def malformed_token() -> HubError:
    """Reported."""
    return HubError(AUTH_FAILED, "Malformed authorization token.")


def invalid_audience() -> HubError:
    """Reported: the token was made for another hub than the one it is put for."""
    return HubError(
        AUTH_FAILED,
        "InvalidAudience: The authorization header contains a token with a wrong audience.",
    )


def unsupported_token() -> HubError:
    """Ours: a token of Entra ID can only be checked by those who issued it."""
    return HubError(
        AUTH_FAILED,
        "InvalidToken: This hub checks shared access signatures only. Use a connection string "
        "with a key, or start the hub without --check-sas.",
    )


def bad_request_property(name: str) -> HubError:
    """Reported, of the property `type` of a put-token request. The condition is not known."""
    return HubError(
        ARGUMENT_ERROR,
        f"Property '{name}' in the 'application-properties' section is either missing, has the "
        "wrong type, or has an unexpected value.",
    )


# Links without the right to be there


def claim_required(claim: str, resource: str) -> HubError:
    """Refuses a link for which no token, or not the right one, was put. Reported."""
    return HubError(UNAUTHORIZED_ACCESS, _claim_words(claim, resource))


def claim_lapsed(claim: str, resource: str) -> HubError:
    """Detaches a link that was open when its token ended. Reported."""
    return HubError(DETACH_FORCED, _claim_words(claim, resource))


def _claim_words(claim: str, resource: str) -> str:
    return (
        f"Unauthorized access. '{claim}' claim(s) are required to perform this operation. "
        f"Resource: '{resource}'."
    )


# Closed by the hub. What an idle connection is told is in `tidegate_amqp.settings`.


def too_many_answers(count: int) -> HubError:
    """Ours: detaches a link whose client asks and asks, and takes no answers."""
    return HubError(
        RESOURCE_LIMIT_EXCEEDED,
        f"{count} answers wait for credit on this link, which is too many: none of them is kept. "
        "Give the link credit, then attach it again.",
    )


def too_much_waits(limit: int) -> HubError:
    """Ours: closes a connection whose client does not open its session windows."""
    return HubError(
        RESOURCE_LIMIT_EXCEEDED,
        f"More than {limit} bytes wait for the client to open the windows of its sessions. Open "
        "them, or use larger ones.",
    )


def no_token(seconds: float) -> HubError:
    """Ours: closes a connection on which no valid token was put."""
    return HubError(
        UNAUTHORIZED_ACCESS,
        f"No token that is valid came within {seconds:.0f} seconds of connecting. Put one to $cbs.",
    )


def stopping(container: str) -> HubError:
    """Ours: closes the connections that are open when the hub stops."""
    return HubError(CONNECTION_FORCED, f"The hub is stopping; closed by container '{container}'.")

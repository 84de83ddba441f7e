"""Everybody who knocks at a route without the right to: what each of them shows, and how each must be turned away.

A route's security in openapi/openapi.yaml says who may ask; nothing here names a route, except where the rule has an
exception. An answer is (status, slug); None means that this one may ask, or that there is nothing to learn.
"""
import base64
import dataclasses
import hashlib
import hmac
import time
from typing import Callable

NOBODY, NO_TOKEN = (401, "unauthenticated"), (401, "token-invalid")
WRONG_KIND, NOT_YOURS, CSRF = (403, "insufficient-scope"), (404, "not-found"), (403, "csrf")
SUSPENDED = (403, "tenant-suspended")

# What a suspended tenant may do besides reading: it only stops cost, or is a question that needs a body.
MAY_WHEN_SUSPENDED = {"cancelRun", "stopChat", "cancelAguiRun", "cancelAguiRunOfAgent", "queryTableRows"}

# A list that outlives what it is about: of something that is not there it is empty.
EMPTY_FOR_OTHERS = {"listWorkflowRuns"}


@dataclasses.dataclass
class Route:
    """An operation of the file, with a request that is good when it comes from the right one."""
    name: str
    method: str
    template: str
    schemes: frozenset
    target: str
    body: object
    headers: dict

    @property
    def writes(self):
        return self.method != "GET"

    @property
    def for_services(self):
        return "integrationKey" in self.schemes

    @property
    def for_guests(self):
        return self.schemes == {"integrationKey", "sandboxBearer"}

    @property
    def for_tokens(self):
        return bool(self.schemes) and self.schemes <= {"sandboxBearer", "oneTimeToken"}

    @property
    def for_runners(self):
        return self.schemes == {"runnerKey"}

    @property
    def names_something(self):
        return "{" in self.template


@dataclasses.dataclass
class Intruder:
    name: str
    headers: dict
    answer: Callable[[Route], object]


def to_nobody(route):
    return NO_TOKEN if route.for_tokens else NOBODY


def to_a_runner(route):
    return None if route.for_runners else to_nobody(route)


def to_the_operator(route):
    if route.for_services:
        return WRONG_KIND
    return None if route.schemes == {"adminKey"} else to_nobody(route)


def to_another_tenant(route):
    if route.for_services:
        return NOT_YOURS if route.names_something else None
    return WRONG_KIND if route.schemes == {"adminKey"} else to_nobody(route)


def to_a_box(route, own):
    """`own`: it works for the tenant whose things they are, though not on this execution."""
    if route.for_guests:
        return None if own else NOT_YOURS
    return WRONG_KIND if route.for_services or route.schemes == {"adminKey"} else to_nobody(route)


def to_a_page_elsewhere(route):
    """A session's cookie, without the proof that our page asks: what reads is answered, what changes is not."""
    if route.for_tokens:
        return NO_TOKEN
    if route.for_runners:
        return NOBODY
    if route.writes:
        return CSRF
    return WRONG_KIND if route.schemes == {"adminKey"} else None


def to_an_operator_without_tenant(route):
    if route.for_services:
        return WRONG_KIND
    return None if route.schemes in ({"adminKey"}, {"consoleSession"}) else to_nobody(route)


def base64url(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def derived(server, purpose):
    return hashlib.sha256(f"{purpose}\n{server.bootstrap['admin_key']}".encode()).digest()


def cookie_that_ended(server, seconds_ago=1):
    """Of the operator, with a true seal."""
    said = b"a" + bytes(16) + int((time.time() - seconds_ago) * 1000).to_bytes(8, "big")
    seal = hmac.new(derived(server, "console sessions"), b"cookie\n" + said, hashlib.sha256).digest()
    return f"sluice_session_{server.port}=" + base64url(said + seal)


def box_bearer(server, run, tenant, use="write"):
    named = f"{run}.{tenant}.{use}"
    seal = hmac.new(derived(server, "bearers of boxes"), f"the box of {named}".encode(), hashlib.sha256).digest()
    return f"asbx_{named}.{base64url(seal)}"


def altered(text):
    """The token with its last but one character changed: the last one may have unused bits."""
    return text[:-2] + ("A" if text[-2] != "A" else "B") + text[-1]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def strangers(server):
    """Nobody, in many clothes."""
    service, admin = server.bootstrap["service_key"], server.bootstrap["admin_key"]
    basic = base64.b64encode(f"{service}:".encode()).decode()
    shown = {
        "nothing": {},
        "an empty header": {"Authorization": ""},
        "a scheme alone": {"Authorization": "Bearer"},
        "garbage": bearer("garbage"),
        "a guess at a service key": bearer(altered(service)),
        "a guess at the admin key": bearer(altered(admin)),
        "a service key that is too long": bearer(service + "x" * 300),
        "a good key by Basic": {"Authorization": "Basic " + basic},
        "a good key without a scheme": {"Authorization": service},
        "two keys": {"Authorization": f"Bearer {service}", "authorization": f"Bearer {service}"},
        "a box's bearer that nobody gave": bearer("asbx_" + "0" * 43),
        "a cookie of somebody's making": {"Cookie": f"sluice_session_{server.port}=" + "A" * 90},
        "the cookie of a session that has ended": {"Cookie": cookie_that_ended(server)},
        "a good key in the query": {"X-Api-Key": service},
    }
    return [*(Intruder(name, headers, to_nobody) for name, headers in shown.items()),
            Intruder("the runner's key", bearer(server.bootstrap["runner_key"]), to_a_runner)]

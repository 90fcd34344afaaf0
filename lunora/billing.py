"""Billing: an action talks to the outside, a mutation keeps what came of it."""

from __future__ import annotations

from lunora._generated.internal import internal
from lunora._generated.server import ActionContext, MutationContext, internal_action, internal_mutation


@internal_action
async def charge(ctx: ActionContext, invoice_id: str) -> None:
    """Charge an invoice. An action may be run more than once, so whoever is called gets a key of its own for it."""
    key = f"{ctx.job.id}-{ctx.job.incarnation}" if ctx.job else invoice_id
    # a payment provider would be called here, with `key` as its idempotency key:
    # await ctx.fetch("https://payments.example.com/charges", method="POST", headers={"idempotency-key": key}, ...)
    print(f"charging {invoice_id} under the key {key}")
    await ctx.run_mutation(internal.billing.paid, {"invoice_id": invoice_id})


@internal_mutation
def paid(ctx: MutationContext, invoice_id: str) -> None:
    """Note that an invoice was paid."""
    ctx.db.execute(
        "UPDATE invoices SET paid_at = ? WHERE id = ? AND paid_at IS NULL", int(ctx.now.timestamp() * 1000), invoice_id
    )

"""Add tokens that let a browser vote once without signing in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table; in SQLite without row numbers, which would tell the order of the votes."""
    op.create_table(
        "vote_tokens",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_vote_tokens")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Drop it: votes that are sent twice are counted twice from then on."""
    op.drop_table("vote_tokens")

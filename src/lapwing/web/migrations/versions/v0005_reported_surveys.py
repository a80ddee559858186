"""Add reports about surveys: how many there are, not who made them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Begin to count."""
    op.add_column("surveys", sa.Column("reported", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    """Forget it."""
    with op.batch_alter_table("surveys") as table:
        table.drop_column("reported")

"""Add the right of operators: people who watch collections."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Nobody is one yet. A column beside the roles: in SQLite another role would need the table of people made anew."""
    op.add_column("users", sa.Column("operator", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    """Forget it."""
    op.drop_column("users", "operator")

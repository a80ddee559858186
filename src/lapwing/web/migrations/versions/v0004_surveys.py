"""Add surveys: questions, tallies of randomised answers and, apart from them, used links."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables; in SQLite those about answers without row numbers, which would tell an order."""
    op.create_table(
        "surveys",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("answers", sa.JSON(), nullable=False),
        sa.Column("low", sa.String(), nullable=False),
        sa.Column("high", sa.String(), nullable=False),
        sa.Column("measure", sa.String(), nullable=False),
        sa.Column("flip", sa.String(), nullable=False),
        sa.Column("closes", sa.Date(), nullable=False),
        sa.Column("closed", sa.Boolean(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("links", sa.Integer(), nullable=False),
        sa.Column("reports", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind in ('yes-no', 'choice', 'number')", name=op.f("ck_surveys_kind_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_surveys")),
    )
    op.create_index(op.f("ix_surveys_closes"), "surveys", ["closes"], unique=False)
    op.create_table(
        "survey_tallies",
        sa.Column("survey_id", sa.String(), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["survey_id"], ["surveys.id"], name=op.f("fk_survey_tallies_survey_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("survey_id", "batch", "value", name=op.f("pk_survey_tallies")),
        sqlite_with_rowid=False,
    )
    for name in ("survey_links", "survey_tokens"):
        op.create_table(
            name,
            sa.Column("survey_id", sa.String(), nullable=False),
            sa.Column("token_hash", sa.LargeBinary(), nullable=False),
            sa.ForeignKeyConstraint(
                ["survey_id"], ["surveys.id"], name=op.f(f"fk_{name}_survey_id"), ondelete="CASCADE"
            ),
            sa.PrimaryKeyConstraint("survey_id", "token_hash", name=op.f(f"pk_{name}")),
            sqlite_with_rowid=False,
        )


def downgrade() -> None:
    """Drop them, with everything in them."""
    for table in ("survey_tokens", "survey_links", "survey_tallies", "surveys"):
        op.drop_table(table)

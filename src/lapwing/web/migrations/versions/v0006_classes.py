"""Add classes: their teachers, the pseudonyms of pupils, and what pupils finished since they joined."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the tables; in SQLite those about pupils without row numbers, which would tell an order."""
    op.create_table(
        "classes",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=True),
        sa.Column("ends", sa.Date(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_classes_owner_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_classes")),
        sa.UniqueConstraint("code", name=op.f("uq_classes_code")),
    )
    op.create_index(op.f("ix_classes_owner_id"), "classes", ["owner_id"], unique=False)
    op.create_index(op.f("ix_classes_ends"), "classes", ["ends"], unique=False)
    op.create_table(
        "class_pupils",
        sa.Column("class_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.Column("pseudonym", sa.String(), nullable=False),
        sa.Column("pseudonym_key", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["class_id"], ["classes.id"], name=op.f("fk_class_pupils_class_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_class_pupils_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("class_id", "user_id", name=op.f("pk_class_pupils")),
        sa.UniqueConstraint("mark", name=op.f("uq_class_pupils_mark")),
        sa.UniqueConstraint("class_id", "pseudonym_key", name=op.f("uq_class_pupils_class_id_pseudonym_key")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_class_pupils_user_id"), "class_pupils", ["user_id"], unique=False)
    op.create_table(
        "class_results",
        sa.Column("class_id", sa.String(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("right", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["class_id", "user_id"],
            ["class_pupils.class_id", "class_pupils.user_id"],
            name=op.f("fk_class_results_class_id_user_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("class_id", "user_id", "slug", name=op.f("pk_class_results")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Drop them, with everything in them."""
    for table in ("class_results", "class_pupils", "classes"):
        op.drop_table(table)

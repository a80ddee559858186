"""Create the tables of the first version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "usage",
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("period", "what", name=op.f("pk_usage")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_day", sa.Date(), nullable=False),
        sa.Column("totp_secret", sa.LargeBinary(), nullable=True),
        sa.Column("totp_used", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("role in ('learner', 'instructor', 'admin')", name=op.f("ck_users_role_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name_key", name=op.f("uq_users_name_key")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "vote_tallies",
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("reports", sa.Integer(), nullable=False),
        sa.Column("ones", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("slug", "role", name=op.f("pk_vote_tallies")),
    )
    op.create_table(
        "comments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("parent_id", sa.Integer(), nullable=True),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("edited", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.CheckConstraint("state in ('visible', 'hidden', 'removed')", name=op.f("ck_comments_state_known")),
        sa.ForeignKeyConstraint(["parent_id"], ["comments.id"], name=op.f("fk_comments_parent_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_comments_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comments")),
    )
    op.create_index(op.f("ix_comments_parent_id"), "comments", ["parent_id"], unique=False)
    op.create_index(op.f("ix_comments_slug_created"), "comments", ["slug", "created"], unique=False)
    op.create_index(op.f("ix_comments_user_id"), "comments", ["user_id"], unique=False)
    op.create_table(
        "nuggets",
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("published", sa.Integer(), nullable=True),
        sa.CheckConstraint(
            "state in ('draft', 'review', 'published', 'withdrawn')", name=op.f("ck_nuggets_state_known")
        ),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_nuggets_owner_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("slug", name=op.f("pk_nuggets")),
    )
    op.create_index(op.f("ix_nuggets_owner_id"), "nuggets", ["owner_id"], unique=False)
    op.create_table(
        "profiles",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("knowledge", sa.String(), nullable=False),
        sa.Column("goals", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_profiles_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_profiles")),
    )
    op.create_table(
        "progress",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("done", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_progress_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "slug", name=op.f("pk_progress")),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("code_hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_recovery_codes_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "code_hash", name=op.f("pk_recovery_codes")),
    )
    op.create_table(
        "uploads",
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=True),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_uploads_owner_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_uploads")),
    )
    op.create_index(op.f("ix_uploads_owner_id"), "uploads", ["owner_id"], unique=False)
    op.create_table(
        "votes_cast",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_votes_cast_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "slug", name=op.f("pk_votes_cast")),
    )
    op.create_table(
        "web_sessions",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("csrf", sa.String(), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_web_sessions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_web_sessions")),
    )
    op.create_index(op.f("ix_web_sessions_expires"), "web_sessions", ["expires"], unique=False)
    op.create_index(op.f("ix_web_sessions_user_id"), "web_sessions", ["user_id"], unique=False)
    op.create_table(
        "reports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("comment_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.CheckConstraint("state in ('open', 'kept', 'removed')", name=op.f("ck_reports_state_known")),
        sa.ForeignKeyConstraint(
            ["comment_id"], ["comments.id"], name=op.f("fk_reports_comment_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_reports_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
    )
    op.create_index(op.f("ix_reports_comment_id"), "reports", ["comment_id"], unique=False)
    op.create_index(op.f("ix_reports_state"), "reports", ["state"], unique=False)
    op.create_table(
        "versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("author_id", sa.Integer(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["users.id"], name=op.f("fk_versions_author_id"), ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["slug"], ["nuggets.slug"], name=op.f("fk_versions_slug"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_versions")),
        sa.UniqueConstraint("slug", "number", name=op.f("uq_versions_slug_number")),
    )


def downgrade() -> None:
    """Drop them, with everything in them."""
    for table in (
        "versions",
        "reports",
        "web_sessions",
        "votes_cast",
        "uploads",
        "recovery_codes",
        "progress",
        "profiles",
        "nuggets",
        "comments",
        "vote_tallies",
        "users",
        "usage",
    ):
        op.drop_table(table)

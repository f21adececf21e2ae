-- A key, not a number: a task is there before its session is.
ALTER TABLE tasks ADD COLUMN session TEXT;
CREATE INDEX tasks_of_session ON tasks (session);

-- A name stands for one Being, in commands and in addresses. Of those that shared one, the first
-- keeps it, and the others are called by their ids too.

UPDATE beings SET name = name || ' ' || id
WHERE EXISTS (SELECT 1 FROM beings AS other WHERE other.name = beings.name AND other.n < beings.n);
CREATE UNIQUE INDEX beings_by_name ON beings (name);

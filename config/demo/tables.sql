-- The dimension tables of `lookaside demo`: users (test1) and the regions that they live in (test2).
CREATE TABLE test1 (id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT, catalog TEXT);
CREATE TABLE test2 (id INTEGER PRIMARY KEY, name TEXT NOT NULL);

INSERT INTO test1 (id, name, description, catalog) VALUES
  (1, 'alice', 'first', 'A'),
  (2, 'bob', 'second', 'B'),
  (3, 'carol', 'third', 'A'),
  (4, 'dan', 'fourth', 'B'),
  (5, 'eve', 'fifth', 'A'),
  (6, 'frank', 'sixth', 'B'),
  (7, 'grace', 'seventh', 'A'),
  (8, 'heidi', 'eighth', 'B');

-- 7 and 8 live nowhere: a left join gives them null.
INSERT INTO test2 (id, name) VALUES
  (1, 'north'),
  (2, 'east'),
  (3, 'south'),
  (4, 'west'),
  (5, 'north'),
  (6, 'east');

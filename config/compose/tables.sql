-- The dimension tables of config/examples/order-enrichment.yaml, for compose.yaml.
CREATE TABLE test1 (
  id INT PRIMARY KEY,
  name VARCHAR(40),
  description VARCHAR(80),
  catalog VARCHAR(20)
);

CREATE TABLE test2 (
  id INT PRIMARY KEY,
  name VARCHAR(40)
);

INSERT INTO test1 VALUES
  (1, 'alice', 'since 2019', 'A'),
  (2, 'bob', 'since 2020', 'A'),
  (3, 'carol', 'since 2021', 'B'),
  (4, 'dave', 'since 2022', 'B'),
  (5, 'erin', NULL, 'C'),
  (6, 'frank', 'since 2024', 'C');

INSERT INTO test2 VALUES
  (1, 'north'),
  (2, 'south'),
  (3, 'east'),
  (5, '');

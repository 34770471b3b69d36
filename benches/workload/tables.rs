//! The dimension tables of the benchmark: what each row holds, as a function of its id.

use super::orders::{PRODUCTS, USERS};

/// Users whose id divides by this are missing from the table, so that the left join pads their orders.
const MISSING_USER: u32 = 50;
const CITIES: [&str; 8] = ["Lagos", "Lima", "Oslo", "Osaka", "Quito", "Riga", "Seoul", "Turin"];

/// A row of `users`.
#[derive(Debug, PartialEq, Eq)]
pub struct User {
    /// `name VARCHAR(64)`.
    pub name: String,
    /// `level INT`.
    pub level: i64,
    /// `city VARCHAR(32)`, which the job does not read.
    pub city: &'static str,
}

/// A row of `products`.
#[derive(Debug, PartialEq, Eq)]
pub struct Product {
    /// `title VARCHAR(64)`.
    pub title: String,
    /// `price DECIMAL(10,2)` in hundredths.
    pub cents: u64,
}

/// The user with this id, if the table has one.
pub fn user(id: u32) -> Option<User> {
    let known = id < USERS && !id.is_multiple_of(MISSING_USER);
    known.then(|| User {
        name: format!("Customer {id:06}"),
        level: i64::from(id % 7),
        city: CITIES[id as usize % CITIES.len()],
    })
}

/// The product with this id.
pub fn product(id: u32) -> Option<Product> {
    (id < PRODUCTS).then(|| Product {
        title: format!("Product number {id:05}"),
        cents: 99 + u64::from(id) * 37 % 50_000,
    })
}

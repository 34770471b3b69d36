//! What happens in the demo: orders are placed, changed and cancelled, and now
//! and then a row of a dimension table changes.
//!
//! A story has no clock and does nothing: it says what comes next, the same in
//! every run. Each change of a dimension row is followed by an order of the user
//! whom it concerns, so that its effect is the next thing to be seen.

use std::collections::{BTreeMap, VecDeque};

/// Users who place orders. The tables know fewer, so that joins miss.
const USERS: u32 = 9;

/// The user that `test1` does not have.
const STRANGER: u32 = USERS;

/// Users whom `test2` has at the start.
const WITH_REGION: u32 = 6;

const REGIONS: [&str; 4] = ["north", "east", "south", "west"];

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// A record of the topic.
    Order(Order),
    /// A statement for the dimension tables.
    Change(Change),
}

/// An order of a user, who has one at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) user: u32,
    /// `None`: cancelled, a record without a value.
    pub(super) amount: Option<u32>,
    /// `placed`, `changed`, `cancelled`.
    pub(super) what: &'static str,
    /// What to look for.
    pub(super) remark: &'static str,
}

/// A change of a dimension table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) sql: String,
    /// What to look for.
    pub(super) remark: String,
}

/// Says what comes next.
#[derive(Debug)]
pub(super) struct Story {
    random: u64,
    /// Amounts of the orders that stand, by user.
    orders: BTreeMap<u32, u32>,
    /// Numbers of the regions that users live in.
    regions: BTreeMap<u32, usize>,
    changes: u32,
    /// What a change was followed by.
    pending: VecDeque<Act>,
    met_stranger: bool,
}

impl Story {
    pub(super) fn new() -> Self {
        let region = |user: u32| (user, (user as usize - 1) % REGIONS.len());
        Self {
            random: 0x9E37_79B9_7F4A_7C15,
            orders: BTreeMap::new(),
            regions: (1..=WITH_REGION).map(region).collect(),
            changes: 0,
            pending: VecDeque::new(),
            met_stranger: false,
        }
    }

    /// What comes next; `change`: it is time for a change of a dimension row.
    pub(super) fn next(&mut self, change: bool) -> Act {
        if let Some(act) = self.pending.pop_front() {
            return act;
        }
        if change && let Some(act) = self.change() {
            return act;
        }
        let user = 1 + self.below(USERS);
        if self.orders.contains_key(&user) && self.below(4) == 0 {
            return self.cancel(user);
        }
        self.place(user)
    }

    /// Places the user's order, or changes the one that stands.
    fn place(&mut self, user: u32) -> Act {
        let amount = 1 + self.below(500);
        let what = if self.orders.insert(user, amount).is_some() { "changed" } else { "placed" };
        let first_of_stranger = user == STRANGER && !self.met_stranger;
        self.met_stranger |= first_of_stranger;
        let remark = if first_of_stranger { "not in users: an inner join gives nothing" } else { "" };
        Act::Order(Order { user, amount: Some(amount), what, remark })
    }

    fn cancel(&mut self, user: u32) -> Act {
        self.orders.remove(&user);
        Act::Order(Order { user, amount: None, what: "cancelled", remark: "" })
    }

    /// A change that concerns someone whose order stands.
    fn change(&mut self) -> Option<Act> {
        let nth = self.changes % 4;
        // A region comes back to the user who has lost it; everything else befalls someone who has one.
        let concerned = |user: &&u32| match nth {
            3 => !self.regions.contains_key(user) && **user <= WITH_REGION,
            _ => self.regions.contains_key(user),
        };
        let candidates: Vec<u32> = self.orders.keys().filter(concerned).copied().collect();
        let user = *candidates.get(self.changes as usize % candidates.len().max(1))?;
        self.changes += 1;
        let follow_up = self.place(user);
        self.pending.push_back(follow_up);
        let (sql, remark) = match nth {
            0 => self.move_house(user),
            1 => (
                format!("UPDATE test1 SET description = 'since change {}' WHERE id = {user}", self.changes),
                format!(
                    "users is cached for 10 min (lookup.partial-cache.expire-after-write): \
                     user {user} keeps the old row until then"
                ),
            ),
            2 => {
                self.regions.remove(&user);
                (
                    format!("DELETE FROM test2 WHERE id = {user}"),
                    format!(
                        "a left join shows null for what it does not find: the next order of user {user}"
                    ),
                )
            }
            _ => {
                let region = self.below(REGIONS.len() as u32) as usize;
                self.regions.insert(user, region);
                (
                    format!("INSERT INTO test2 (id, name) VALUES ({user}, '{}')", REGIONS[region]),
                    format!("the next order of user {user} finds it"),
                )
            }
        };
        Some(Act::Change(Change { sql, remark }))
    }

    fn move_house(&mut self, user: u32) -> (String, String) {
        let now = self.regions.get(&user).map_or(0, |region| (region + 1) % REGIONS.len());
        self.regions.insert(user, now);
        (
            format!("UPDATE test2 SET name = '{}' WHERE id = {user}", REGIONS[now]),
            format!(
                "regions has no cache: the next order of user {user} shows it, and -U repeats what was sent before"
            ),
        )
    }

    /// A number below `bound` (xorshift).
    fn below(&mut self, bound: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % u64::from(bound.max(1))) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(count: usize) -> Vec<Act> {
        let mut story = Story::new();
        (0..count).map(|nth| story.next(nth % 10 == 9)).collect()
    }

    #[test]
    fn orders_are_placed_changed_and_cancelled_in_that_order() {
        let mut standing = BTreeMap::new();
        for act in acts(500) {
            let Act::Order(order) = act else { continue };
            let known = standing.contains_key(&order.user);
            match order.what {
                "placed" => assert!(!known),
                "changed" | "cancelled" => assert!(known),
                other => panic!("{other}"),
            }
            match order.amount {
                Some(amount) => standing.insert(order.user, amount),
                None => standing.remove(&order.user),
            };
        }
        let words: std::collections::BTreeSet<&str> = acts(500)
            .iter()
            .filter_map(|act| if let Act::Order(order) = act { Some(order.what) } else { None })
            .collect();
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["cancelled", "changed", "placed"]);
    }

    #[test]
    fn a_change_is_followed_by_an_order_of_the_user_it_concerns() {
        let acts = acts(500);
        let mut kinds = Vec::new();
        for (act, next) in acts.iter().zip(acts.iter().skip(1)) {
            let Act::Change(change) = act else { continue };
            let Act::Order(order) = next else { panic!("{change:?} is followed by nothing") };
            assert_eq!(order.what, "changed", "{change:?}");
            assert!(change.sql.contains(&order.user.to_string()), "{change:?} {order:?}");
            kinds.push(change.sql.split(' ').take(3).collect::<Vec<_>>().join(" "));
        }
        assert_eq!(
            kinds[..4],
            ["UPDATE test2 SET", "UPDATE test1 SET", "DELETE FROM test2", "INSERT INTO test2"]
        );
    }

    #[test]
    fn the_story_is_the_same_in_every_run() {
        assert_eq!(acts(100), acts(100));
        let stranger = |act: &Act| matches!(act, Act::Order(order) if !order.remark.is_empty());
        assert_eq!(acts(500).iter().filter(|act| stranger(act)).count(), 1);
    }
}

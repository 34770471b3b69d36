//! Several files to one definition.

use super::definition::Fragment;
use super::{Definition, Fault, Faults, Span};

/// Merges what the files hold. `whole` is the place to blame for what none of them has.
pub(super) fn merge(
    whole: &Span,
    fragments: Vec<Fragment>,
    mut faults: Faults,
) -> Result<Definition, Vec<Fault>> {
    let mut all = Fragment::default();
    for fragment in fragments {
        add_name(&mut all, &fragment, &mut faults);
        add_tables(&mut all, &fragment, &mut faults);
        add_options(&mut all, &fragment, &mut faults);
        match (&all.pipeline, &fragment.pipeline) {
            (Some(first), Some(second)) => faults.add(
                Fault::new(&second.span, format!("a second 'pipeline', the first is at {}", first.span))
                    .help("one definition has one pipeline"),
            ),
            (None, Some(pipeline)) => all.pipeline = Some(pipeline.clone()),
            (_, None) => {}
        }
        all.has_pipeline |= fragment.has_pipeline;
    }
    let Some(pipeline) = all.pipeline else {
        if !all.has_pipeline {
            let help = "write `pipeline: {from: …, lookup: […], select: […], into: …}`: what is read, and where it goes";
            faults.add(Fault::new(whole, "there is no 'pipeline'").help(help));
        }
        return Err(faults.into_sorted());
    };
    Ok(Definition {
        name: all.name,
        tables: all.tables,
        pipeline,
        options: all.options,
        faults: faults.into_sorted(),
    })
}

fn add_name(all: &mut Fragment, fragment: &Fragment, faults: &mut Faults) {
    match (&all.name, &fragment.name) {
        (Some(first), Some(second)) => {
            let what = format!("a second 'name', the first is at {}", first.span);
            faults.add(Fault::new(&second.span, what).help("one definition has one name"));
        }
        (None, Some(name)) => all.name = Some(name.clone()),
        (_, None) => {}
    }
}

fn add_tables(all: &mut Fragment, fragment: &Fragment, faults: &mut Faults) {
    for table in &fragment.tables {
        match all.tables.iter().find(|known| known.name.written == table.name.written) {
            Some(first) => {
                let what =
                    format!("a second table '{}', the first is at {}", table.name.written, first.name.span);
                faults.add(Fault::new(&table.name.span, what).help("give one of them another name"));
            }
            None => all.tables.push(table.clone()),
        }
    }
}

fn add_options(all: &mut Fragment, fragment: &Fragment, faults: &mut Faults) {
    for entry in &fragment.options {
        match all.options.iter().find(|known| known.key.written == entry.key.written) {
            Some(first) => {
                let what =
                    format!("option '{}' is given twice, first at {}", entry.key.written, first.key.span);
                faults.add(Fault::new(&entry.key.span, what).help("leave one of them out"));
            }
            None => all.options.push(entry.clone()),
        }
    }
}

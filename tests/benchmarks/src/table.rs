//! Tables in Markdown, aligned.

/// A table; the first column is text, the others are figures.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(titles: [&str; N]) -> Table {
        Table { rows: vec![titles.map(str::to_owned).to_vec()] }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    /// Prints it below a title.
    pub(crate) fn print(&self, title: &str) {
        println!("### {title}\n");
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(4)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            println!("| {} |", cells.collect::<Vec<_>>().join(" | "));
            if number == 0 {
                let lines = widths.iter().enumerate().map(|(column, width)| match column {
                    0 => "-".repeat(*width),
                    _ => format!("{}:", "-".repeat(width - 1)),
                });
                println!("| {} |", lines.collect::<Vec<_>>().join(" | "));
            }
        }
        println!();
    }
}

/// Returns a whole number with commas: `14,077`.
pub(crate) fn whole(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0.0 { format!("-{text}") } else { text }
}

/// Returns a share in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Returns the median; 0 if there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

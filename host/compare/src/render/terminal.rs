//! Renders a comparison as text for a terminal.

use super::{SAME_RUN, change, change_of, counts_of, drift_lines};
use crate::format;
use crate::reason;
use crate::result::{ComparedRun, Comparison, MetricComparison};
use crate::verdict::Verdict;
use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

const HEADING: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

/// Minimum width of a page.
const MIN_PAGE_COLUMNS: usize = 40;

/// Renders a comparison within `width` columns. For every metric it shows the samples that became worse, the figures, the
/// drift, and the reason for the gate's verdict. The text ends with a newline.
pub fn render_comparison(comparison: &Comparison, width: usize, colour: bool) -> String {
    let mut page = TerminalText { text: String::new(), width: width.max(MIN_PAGE_COLUMNS), colour };
    page.run("base", &comparison.base);
    page.run("new", &comparison.new);
    if comparison.same_run {
        page.wrapped(2, style_of(Some(Verdict::Inconclusive)), SAME_RUN);
    }
    page.pairing(comparison);
    for difference in &comparison.differences {
        let allowed = if difference.allowed { " (allowed)" } else { "" };
        let text = format!(
            "{} differ{allowed}: {}",
            difference.part.name(),
            format::shortened(&format::with_short_digests(&difference.what))
        );
        page.wrapped(2, if difference.allowed { FAINT } else { style_of(Some(Verdict::Mismatch)) }, &text);
    }
    for what in comparison.warned() {
        page.wrapped(2, style_of(Some(Verdict::Inconclusive)), &format!("warning: {what}"));
    }
    for metric in comparison.by_importance() {
        page.metric(metric, comparison.refusal.is_some());
    }
    if !comparison.overall.is_empty() {
        page.blank();
        page.wrapped(2, HEADING, "over all tasks");
    }
    for overall in &comparison.overall {
        let text = format!(
            "{}: {}, {} samples of {} tasks",
            format::shortened(&overall.metric_id),
            change(overall.base, overall.new, overall.difference, overall.interval),
            format::count(overall.n),
            overall.tasks
        );
        page.wrapped(4, Style::new(), &text);
    }
    if !comparison.not_compared.is_empty() {
        page.blank();
        page.wrapped(2, HEADING, "not compared");
        comparison
            .not_compared
            .iter()
            .for_each(|what| page.wrapped(4, FAINT, &format::shortened(&what.to_string())));
    }
    page.blank();
    page.wrapped(2, style_of(comparison.verdict), &comparison.headline());
    page.text
}

struct TerminalText {
    text: String,
    width: usize,
    colour: bool,
}

impl TerminalText {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn line(&mut self, indent: usize, style: Style, text: &str) {
        self.text.push_str(&" ".repeat(indent));
        match self.colour && style != Style::new() {
            true => self.text.push_str(&format!("{style}{text}{style:#}")),
            false => self.text.push_str(text),
        }
        self.text.push('\n');
    }

    /// Writes a text, wrapped between words; lines after the first are indented by two more.
    fn wrapped(&mut self, indent: usize, style: Style, text: &str) {
        for (number, line) in wrap(text, self.width.saturating_sub(indent + 2)).iter().enumerate() {
            self.line(if number == 0 { indent } else { indent + 2 }, style, line);
        }
    }

    fn run(&mut self, name: &str, run: &ComparedRun) {
        let models = match run.models.as_slice() {
            [] => String::new(),
            models => format!("  {}", format::shortened(&models.join(", "))),
        };
        let status = if run.status == "complete" { String::new() } else { format!("  ({})", run.status) };
        self.wrapped(
            2,
            Style::new(),
            &format!("{name:4}  {}{models}{status}", format::shortened(&run.label)),
        );
    }

    fn pairing(&mut self, comparison: &Comparison) {
        let sum = |part: fn(&crate::TaskPairing) -> u64| comparison.tasks.iter().map(part).sum::<u64>();
        let (paired, total) = (sum(|task| task.paired), sum(|task| task.total));
        let are = if total == 1 { "is" } else { "are" };
        let mut text =
            format!("{} of {} {are} in both", format::count(paired), format::counted(total, "sample"));
        let causes = reason::causes(&comparison.tasks);
        if !causes.is_empty() {
            text += &format!("; {causes}");
        }
        self.wrapped(2, if paired < total { style_of(Some(Verdict::Inconclusive)) } else { FAINT }, &text);
    }

    /// Writes a name, with the verdict at the right end of its first line.
    fn heading(&mut self, name: &str, verdict: Option<Verdict>) {
        let word = verdict.map_or("", Verdict::word);
        let lines = wrap(name, self.width.saturating_sub(4 + word.width()));
        for (number, line) in lines.iter().enumerate() {
            let (indent, word) = if number == 0 { (2, word) } else { (4, "") };
            let blanks = self.width.saturating_sub(indent + line.width() + word.width());
            let line = if self.colour { format!("{HEADING}{line}{HEADING:#}") } else { line.clone() };
            let style = style_of(verdict);
            let word = match word {
                "" => String::new(),
                word if self.colour => format!("{}{style}{word}{style:#}", " ".repeat(blanks)),
                word => format!("{}{word}", " ".repeat(blanks)),
            };
            self.line(indent, Style::new(), &format!("{line}{word}"));
        }
    }

    fn metric(&mut self, metric: &MetricComparison, is_refused: bool) {
        let verdict = metric.gate.as_ref().map(|gate| gate.verdict);
        self.blank();
        self.heading(&metric.name(), verdict);
        for flip in &metric.flips {
            let tags = match flip.error_tags.as_slice() {
                [] => String::new(),
                tags => format!("  {}", format::shortened(&tags.join(", "))),
            };
            let scores = format!("{} → {}", format::number(flip.base), format::number(flip.new));
            let id = format::shortened(&flip.sample_id);
            self.wrapped(4, Style::new(), &format!("✗ {id}  {scores}{tags}"));
        }
        let shown = metric.flips.len() as u64;
        if metric.worse > shown && shown > 0 {
            self.line(4, FAINT, &format!("… {} more became worse", format::count(metric.worse - shown)));
        }
        self.wrapped(4, Style::new(), &change_of(metric));
        self.wrapped(4, FAINT, &counts_of(metric));
        for line in drift_lines(metric) {
            self.wrapped(4, Style::new(), &line);
        }
        if let Some(gate) = metric.gate.as_ref().filter(|_| !is_refused) {
            self.wrapped(4, style_of(verdict), &gate.reason);
        }
    }
}

fn style_of(verdict: Option<Verdict>) -> Style {
    match verdict {
        Some(Verdict::Pass) => AnsiColor::Green.on_default(),
        Some(Verdict::Regression | Verdict::Mismatch | Verdict::Incomplete) => AnsiColor::Red.on_default(),
        Some(Verdict::Inconclusive) => AnsiColor::Yellow.on_default(),
        None => Style::new(),
    }
}

/// Replacements that prevent a line break within `p = 0.05` and `p < 0.0001`.
const TOGETHER: [(&str, &str); 2] = [(" = ", "\u{a0}=\u{a0}"), (" < ", "\u{a0}<\u{a0}")];

/// Wraps a text between words; a word that is wider than a line is broken.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = TOGETHER.iter().fold(text.to_owned(), |text, (apart, bound)| text.replace(apart, bound));
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let used = lines.last().map_or(0, |line| line.width());
        if used > 0 && used + word.trim_end().width() > width {
            lines.push(String::new());
        }
        for character in word.chars() {
            let wide = character.width().unwrap_or(0);
            if lines.last().is_some_and(|line| line.width() + wide > width) && character != ' ' {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(character);
            }
        }
    }
    lines.iter().map(|line| line.trim_end().replace('\u{a0}', " ")).collect()
}

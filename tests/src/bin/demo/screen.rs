//! Output of the story: a table that is redrawn on a terminal, one line per change elsewhere.

use std::{
    collections::BTreeMap,
    env,
    io::{self, IsTerminal, Write},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use rustix::termios::tcgetwinsize;

use crate::{
    observation::Row,
    table::{self, Style},
};

/// Standard output.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: bool,
    colour: bool,
    begin: Instant,
    /// Number of table lines at the end of the screen.
    drawn: usize,
    /// Last line written for each Runnable.
    told: BTreeMap<String, String>,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = io::stdout().is_terminal() && !dumb;
        Self {
            terminal,
            colour: terminal && !set("NO_COLOR"),
            begin: Instant::now(),
            drawn: 0,
            told: BTreeMap::new(),
        }
    }

    /// Shows the present state of the Runnables.
    pub(crate) fn show(&mut self, rows: &[Row]) -> io::Result<()> {
        if self.terminal {
            self.redraw(rows)
        } else {
            self.tell_changes(rows)
        }
    }

    /// Prints a text above the table.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, "{}", self.erase())?;
        writeln!(out, "{text}")?;
        out.flush()?;
        self.drawn = 0;
        Ok(())
    }

    /// Leaves the table where it is: later text appears below it.
    pub(crate) fn keep_table(&mut self) {
        self.drawn = 0;
    }

    fn redraw(&mut self, rows: &[Row]) -> io::Result<()> {
        let (columns, height) = size();
        let style = Style {
            colour: self.colour,
            columns,
        };
        let mut lines = table::lines(rows, now(), style);
        // More lines than the screen has would scroll away and could not be erased.
        lines.truncate(height.saturating_sub(1).max(1));
        let mut out = io::stdout().lock();
        writeln!(out, "{}{}", self.erase(), lines.join("\n"))?;
        self.drawn = lines.len();
        out.flush()
    }

    fn tell_changes(&mut self, rows: &[Row]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for row in rows {
            let line = table::line(row);
            if self.told.get(&row.name) != Some(&line) {
                let seconds = self.begin.elapsed().as_secs_f32();
                writeln!(out, "{seconds:6.1} s  {line}")?;
                self.told.insert(row.name.clone(), line);
            }
        }
        out.flush()
    }

    fn erase(&self) -> String {
        match self.drawn {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        }
    }
}

/// Returns columns and rows of the terminal.
fn size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => (80, 24),
    }
}

fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |time| i64::try_from(time.as_secs()).unwrap_or(0))
}

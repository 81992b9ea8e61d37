//! The backend of ratatui: writes control sequences that all current terminals support (ECMA-48) to
//! standard output. Keys are read elsewhere (`keys`), in the event loop of the command.

use std::fmt::Write as _;
use std::io::{self, Write};

use garland_core::printable;
use garland_sys::terminal;
use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};

use crate::signs;

/// A terminal whose output is buffered until it is flushed.
pub struct Canvas<W> {
    output: W,
    text: String,
    /// Whether to use colours.
    coloured: bool,
}

impl<W: Write> Canvas<W> {
    /// Creates a terminal that draws to `output`.
    pub fn new(output: W, coloured: bool) -> Self {
        Self { output, text: String::new(), coloured }
    }

    /// Returns the control sequence for the style of a cell.
    fn style(&self, cell: &Cell) -> String {
        let mut style = String::from("\x1b[0");
        let modifiers = [
            (Modifier::BOLD, 1),
            (Modifier::DIM, 2),
            (Modifier::UNDERLINED, 4),
            (Modifier::REVERSED, 7),
        ];
        for (_, code) in modifiers.iter().filter(|(one, _)| cell.modifier.contains(*one)) {
            let _ = write!(style, ";{code}");
        }
        for (colour, base) in [(cell.fg, 30), (cell.bg, 40)] {
            if let Some(number) = code(colour).filter(|_| self.coloured) {
                let _ = write!(style, ";{}", base + number);
            }
        }
        style.push('m');
        style
    }
}

/// Returns the difference between the codes of a colour and of black; `None` for the terminal's
/// default colour.
fn code(colour: Color) -> Option<u32> {
    match colour {
        Color::Black => Some(0),
        Color::Red => Some(1),
        Color::Green => Some(2),
        Color::Yellow => Some(3),
        Color::Blue => Some(4),
        Color::Magenta => Some(5),
        Color::Cyan => Some(6),
        Color::Gray => Some(7),
        Color::DarkGray => Some(60),
        _ => None,
    }
}

impl<W: Write> Backend for Canvas<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next = None;
        let mut present = String::new();
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                let _ = write!(self.text, "\x1b[{};{}H", y + 1, x + 1);
            }
            let style = self.style(cell);
            if style != present {
                self.text.push_str(&style);
                present = style;
            }
            match cell.symbol() {
                // A control character must not reach the terminal; `?` keeps its cell.
                symbol if symbol.contains(printable::is_obeyed) => self.text.push('?'),
                symbol => self.text.push_str(&signs::fitting(symbol)),
            }
            // The cell after a wide character is not drawn, so the cursor is then elsewhere.
            next = Some((x + 1, y)).filter(|_| cell.symbol().is_ascii());
        }
        self.text.push_str("\x1b[0m");
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.text.push_str("\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.text.push_str("\x1b[?25h");
        Ok(())
    }

    /// Returns the origin. Ratatui needs the position only for inline viewports, which are not used
    /// here.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        let _ = write!(self.text, "\x1b[{};{}H", y + 1, x + 1);
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, what: ClearType) -> io::Result<()> {
        self.text.push_str(match what {
            ClearType::All => "\x1b[2J",
            ClearType::AfterCursor => "\x1b[J",
            ClearType::BeforeCursor => "\x1b[1J",
            ClearType::CurrentLine => "\x1b[2K",
            ClearType::UntilNewLine => "\x1b[K",
        });
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        let (width, height) = terminal::output_size()
            .ok_or_else(|| io::Error::other("standard output is no longer a terminal"))?;
        Ok(Size { width, height })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        let pixels = Size { width: 0, height: 0 };
        Ok(WindowSize { columns_rows: self.size()?, pixels })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(self.text.as_bytes())?;
        self.text.clear();
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(coloured: bool) -> String {
        let mut said = Vec::new();
        let mut canvas = Canvas::new(&mut said, coloured);
        let mut loud = Cell::new("b");
        loud.modifier = Modifier::BOLD | Modifier::REVERSED;
        loud.fg = Color::Green;
        let plain = Cell::new("a");
        let wide = Cell::new("界");
        let cells = [(0, 0, &plain), (1, 0, &loud), (4, 2, &wide), (6, 2, &plain)];
        canvas.draw(cells.into_iter()).unwrap();
        canvas.flush().unwrap();
        String::from_utf8(said).unwrap()
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_drawn() {
        let mut said = Vec::new();
        let mut canvas = Canvas::new(&mut said, false);
        let escape = Cell::new("\x1b");
        let turn = Cell::new("\u{202e}");
        canvas.draw([(0, 0, &escape), (1, 0, &turn)].into_iter()).unwrap();
        canvas.flush().unwrap();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(said, "\x1b[1;1H\x1b[0m??\x1b[0m");
    }

    #[test]
    fn cells_stand_where_they_belong_and_look_as_they_should() {
        let wanted = "\x1b[1;1H\x1b[0ma\x1b[0;1;7;32mb\x1b[3;5H\x1b[0m界\x1b[3;7Ha\x1b[0m";
        assert_eq!(drawn(true), wanted);
        assert_eq!(drawn(false), wanted.replace(";32", ""));
    }
}

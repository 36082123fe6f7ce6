//! The arena as text, for a terminal.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::arena::CELL;
use crate::numbers::{Vec2, whole};
use crate::pickups::PickupKind;
use crate::player::Standing;
use crate::rounds::Phase;
use crate::scene::{Scene, ScenePlayer};

/// What stands next to a player, by the eighth of a turn into which it aims, and the step to there.
const MUZZLES: [(char, isize, isize); 8] =
    [('-', 1, 0), ('\\', 1, 1), ('|', 0, 1), ('/', -1, 1), ('-', -1, 0), ('\\', -1, -1), ('|', 0, -1), ('/', 1, -1)];

impl Scene {
    /// The scene in `height` lines of `width` characters: the arena within its walls, and the scores in the last line.
    ///
    /// Walls are `#`, blocks `%`, bullets `*`; pickups `+` heal, `r` speed up the trigger, `s` shield. A player is its seat's
    /// number, with a line into the direction of its aim; `z` is a disconnected and `x` a fallen one.
    #[must_use]
    pub fn render_text(&self, width: u16, height: u16) -> String {
        let mut canvas = Canvas::new(width.max(3), height.max(4) - 1, self);
        canvas.draw_walls();
        canvas.draw_blocks(self);
        for pickup in &self.pickups {
            canvas.draw(pickup.position, pickup_sign(pickup.kind));
        }
        self.bullets.iter().for_each(|bullet| canvas.draw(bullet.position, '*'));
        // Numbers last, so that nothing hides a player.
        self.players.iter().for_each(|player| canvas.draw_muzzle(player));
        for (player, seat) in self.players.iter().zip(0u32..) {
            canvas.draw_player(player, char::from_digit(seat % 36, 36).unwrap_or('?'));
        }
        let mut text = canvas.into_text();
        text.extend(fitted(&self.score_line(), usize::from(width.max(3))));
        text.push('\n');
        text
    }

    fn score_line(&self) -> String {
        let state = match self.phase {
            Phase::Playing => format!("round {}", self.round),
            Phase::Intermission { winner, ticks_left } => format!("{winner} wins, next in {ticks_left}"),
            Phase::Over { winner: Some(winner) } => format!("over: {winner} wins"),
            Phase::Over { winner: None } => String::from("over: a draw"),
        };
        let present = self.players.iter().zip(0..).filter(|(player, _)| player.standing != Standing::Absent);
        let scores = present.map(|(player, seat)| format!("  {seat}:{}/{}hp", player.score, player.health));
        scores.fold(state, |line, score| line + &score)
    }
}

fn pickup_sign(kind: PickupKind) -> char {
    match kind {
        PickupKind::Health => '+',
        PickupKind::RapidFire => 'r',
        PickupKind::Shield => 's',
    }
}

/// The line, cut or filled up to `width` characters.
fn fitted(line: &str, width: usize) -> impl Iterator<Item = char> {
    line.chars().chain(core::iter::repeat(' ')).take(width)
}

/// A grid of characters; the outermost ones are the walls.
struct Canvas {
    width: usize,
    height: usize,
    cells: Vec<char>,
    /// Characters in a unit.
    scale: Vec2,
}

impl Canvas {
    fn new(width: u16, height: u16, scene: &Scene) -> Canvas {
        let size = Vec2::new(f32::from(scene.columns.max(1)), f32::from(scene.rows.max(1))) * CELL;
        let scale = Vec2::new(f32::from(width - 2) / size.x, f32::from(height - 2) / size.y);
        let (width, height) = (usize::from(width), usize::from(height));
        Canvas { width, height, cells: vec![' '; width * height], scale }
    }

    /// Column and line of a place.
    fn cell(&self, place: Vec2) -> (usize, usize) {
        let column = usize::from(whole(place.x * self.scale.x)).min(self.width - 3);
        let line = usize::from(whole(place.y * self.scale.y)).min(self.height - 3);
        (column + 1, line + 1)
    }

    fn set(&mut self, column: usize, line: usize, sign: char) {
        if let Some(cell) = self.cells.get_mut(line * self.width + column) {
            *cell = sign;
        }
    }

    fn draw(&mut self, place: Vec2, sign: char) {
        let (column, line) = self.cell(place);
        self.set(column, line, sign);
    }

    fn draw_walls(&mut self) {
        let (width, height) = (self.width, self.height);
        for (index, cell) in self.cells.iter_mut().enumerate() {
            let (column, line) = (index % width, index / width);
            if column == 0 || line == 0 || column == width - 1 || line == height - 1 {
                *cell = '#';
            }
        }
    }

    fn draw_blocks(&mut self, scene: &Scene) {
        for block in &scene.blocks {
            let ((left, top), (right, bottom)) = (self.cell(block.low), self.cell(block.high));
            for line in top..bottom.max(top + 1) {
                (left..right.max(left + 1)).for_each(|column| self.set(column, line, '%'));
            }
        }
    }

    fn draw_player(&mut self, player: &ScenePlayer, number: char) {
        let sign = match player.standing {
            Standing::Absent => return,
            Standing::Away => 'z',
            Standing::Down { .. } => 'x',
            Standing::Alive => number,
        };
        self.draw(player.position, sign);
    }

    fn draw_muzzle(&mut self, player: &ScenePlayer) {
        if player.standing != Standing::Alive {
            return;
        }
        let eighth = usize::from((player.aim + 64) / 128) % MUZZLES.len();
        let (sign, across, down) = MUZZLES[eighth];
        let (column, line) = self.cell(player.position);
        if let (Some(column), Some(line)) = (column.checked_add_signed(across), line.checked_add_signed(down)) {
            let free = self.cells.get(line * self.width + column).is_some_and(|cell| *cell == ' ');
            if free {
                self.set(column, line, sign);
            }
        }
    }

    fn into_text(self) -> String {
        let mut text = String::with_capacity((self.width + 1) * (self.height + 1));
        for line in self.cells.chunks_exact(self.width) {
            text.extend(line);
            text.push('\n');
        }
        text
    }
}

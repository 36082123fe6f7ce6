//! Who is in the arena: presence, changes of drivers, coming back, and what seats command.

use retick_core::frame::CommandSource;
use retick_core::runtime::StepContext;
use retick_core::seat::{Presence, Seat};

use crate::command::Command;
use crate::numbers::Vec2;
use crate::player::{ARRIVAL_SHIELD_TICKS, EMOTE_TICKS, Player, Standing};
use crate::world::Skirmish;

/// How many points a player that appears chooses from.
const SPAWN_CHOICES: u32 = 3;

impl Skirmish {
    /// Brings the players in line with who drives the seats.
    pub(crate) fn admit(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats() {
            let (presence, epoch) = (context.presence(seat), context.epoch(seat));
            let Some(player) = self.players.get_mut(seat.index()) else { continue };
            if player.epoch != epoch {
                // Another driver: nothing of the last one's goes on.
                *player = Player { epoch, ..Player::new(seat) };
                self.bullets.remove_of(seat);
            }
            self.follow_presence(seat, presence);
        }
    }

    fn follow_presence(&mut self, seat: Seat, presence: Presence) {
        let Some(player) = self.players.get_mut(seat.index()) else { return };
        match (presence, player.standing) {
            (Presence::Empty, _) => player.standing = Standing::Absent,
            (Presence::Disconnected, Standing::Alive) => {
                (player.standing, player.velocity) = (Standing::Away, Vec2::ZERO);
            }
            (Presence::Human | Presence::Bot, Standing::Away) => {
                player.standing = Standing::Alive;
                player.timers.shield = player.timers.shield.max(ARRIVAL_SHIELD_TICKS);
            }
            (Presence::Human | Presence::Bot, Standing::Absent) => self.spawn(seat),
            _ => {}
        }
    }

    /// Counts down those that are down, and brings them back.
    pub(crate) fn revive(&mut self) {
        for seat in (0..).map_while(Seat::new).take(self.players.len()) {
            let Some(player) = self.players.get_mut(seat.index()) else { continue };
            match &mut player.standing {
                Standing::Down { ticks_left: 0 | 1 } => self.spawn(seat),
                Standing::Down { ticks_left } => *ticks_left -= 1,
                _ => {}
            }
        }
    }

    /// Lets the player of `seat` appear, of a few points at the one furthest from everyone else.
    pub(crate) fn spawn(&mut self, seat: Seat) {
        let mut best = (-1.0, Vec2::ZERO);
        for _ in 0..SPAWN_CHOICES {
            let point = self.arena.point(self.spawns.below(self.arena.point_count()));
            let distance = self.distance_to_others(seat, point);
            if distance > best.0 {
                best = (distance, point);
            }
        }
        if let Some(player) = self.players.get_mut(seat.index()) {
            player.appear(best.1);
        }
    }

    /// The square of the distance from `point` to the nearest living player of another seat.
    fn distance_to_others(&self, seat: Seat, point: Vec2) -> f32 {
        let others = self.seated().filter(|(other, player)| *other != seat && player.standing == Standing::Alive);
        let distances = others.map(|(_, player)| (player.position - point).length_squared());
        distances.fold(f32::MAX, |least, distance| if distance < least { distance } else { least })
    }

    /// Does what the seats command. The authority has no commands of its own in this game.
    pub(crate) fn obey(&mut self, commands: &[(CommandSource, Command)]) {
        for (source, command) in commands {
            let CommandSource::Game(seat) = source else { continue };
            let Some(player) = self.players.get_mut(seat.index()) else { continue };
            match *command {
                Command::Emote(index) => (player.emote, player.timers.emote) = (index, EMOTE_TICKS),
                Command::Colour(index) => player.colour = index,
            }
        }
    }
}

// Light, dark, or what the system prefers; remembered in this browser only.
const KEY = "lapwing-theme";

export function applyTheme(): void {
  const root = document.documentElement;
  const button = document.querySelector<HTMLButtonElement>("#theme");
  const stored = localStorage.getItem(KEY);
  if (stored) root.dataset.theme = stored;
  if (!button) return;
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => (button.textContent = dark() ? "Light" : "Dark");
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    localStorage.setItem(KEY, root.dataset.theme);
    label();
  });
}

// A component that is drawn again only when one of its properties is another.
import { Component, createElement, type ComponentType, type VNode } from 'preact'

export function memo<P extends object>(Inner: (props: P) => VNode | null): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const had = this.props as Record<string, unknown>
      const keys = Object.keys(next)
      return keys.length !== Object.keys(had).length || keys.some((key) => (next as Record<string, unknown>)[key] !== had[key])
    }

    override render(): VNode {
      return createElement(Inner as ComponentType<P>, this.props as never) as VNode
    }
  }
}
